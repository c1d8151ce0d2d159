"""Text to vectors: which model, where its weights come from, and running it."""
