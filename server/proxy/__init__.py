"""The proxy before the API of a model."""
