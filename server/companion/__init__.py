"""The companion of conversations with a model, for wrapped clients and the proxy."""
