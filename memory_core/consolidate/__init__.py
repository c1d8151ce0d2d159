"""Consolidation: episodes become summaries, topics and concepts, in runs that can be undone."""
