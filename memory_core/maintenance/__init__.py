"""Background maintenance: the table, snapshots, missing vectors, erasure, inspection."""
