"""The signals that ranking adds up, one a file."""
