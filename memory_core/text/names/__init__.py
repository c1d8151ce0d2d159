"""Names of people, places and things in a text."""
