"""How a memory changes with time: tiers, retention, topics, pairs, tombstones, working memory."""
