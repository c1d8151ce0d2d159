"""The engine: one process that keeps the memory open for all clients of one user and machine."""
