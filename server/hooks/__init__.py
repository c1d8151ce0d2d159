"""Hooks: a client reports its conversation and gets memories as context, without a tool call."""
