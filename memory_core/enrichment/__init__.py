"""Model work in the background: gists, facts and relations, within a daily budget."""
