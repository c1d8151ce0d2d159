"""The indexes in memory: columns, words, vectors and links."""
