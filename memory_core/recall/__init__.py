"""The walk of `recall`: from a query to ranked memories with their context."""
