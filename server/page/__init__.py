"""The page in a browser that shows what is remembered: its login, its files, its routes."""
