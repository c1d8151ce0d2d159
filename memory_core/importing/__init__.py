"""Imports: what other tools hold, as one run that can be undone."""
