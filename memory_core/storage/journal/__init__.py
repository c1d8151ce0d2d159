"""The journal: every change, in order, durable before it is acknowledged."""
