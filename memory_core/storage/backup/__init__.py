"""Backups of a store, and salvage of a damaged one."""
