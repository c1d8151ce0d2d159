"""The journal, the indexes and the table; nothing here interprets a text."""
