"""Ranking, forgetting and grouping as pure functions on arrays."""
