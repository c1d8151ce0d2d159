"""How two texts relate: duplicate, correction, contradiction."""
