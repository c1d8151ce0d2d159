"""The LanceDB table of all metadata."""
