"""Hooks: a client reports its conversation and gets what helps with the next prompt."""
