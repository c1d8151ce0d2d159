"""How two texts relate: duplicates, corrections, contradictions, by rules for what texts state."""
