"""Dates and times in a text."""
