"""A conversation with a model that remembers: what the terminal and REST share."""
