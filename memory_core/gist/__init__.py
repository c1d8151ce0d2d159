"""Gist encoders: turns become gists, facts, summaries and relations, with or without a model."""
