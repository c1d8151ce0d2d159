"""The walk of `remember`: from what a caller gives to a durable memory."""
