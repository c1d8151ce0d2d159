"""Embedding: which model turns text into vectors, where its weights come from, how it runs."""
