"""Copies of a store, and what can be read from a broken one."""
