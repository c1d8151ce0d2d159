"""What plain text tells without a model: passages, names, dates, numbers, secrets."""
