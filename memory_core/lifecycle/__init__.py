"""What happens to a memory with time: tiers, topics, tombstones, working memory."""
