"""Upkeep in the background: the table, snapshots, vectors that are still missing."""
