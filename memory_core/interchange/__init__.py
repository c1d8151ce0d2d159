"""Exports and imports: JSON lines, one memory a line."""
