"""Readers of the forms that other tools export, one file a family."""
