"""Bytes, and the indexes over them; knows nothing of meaning."""
