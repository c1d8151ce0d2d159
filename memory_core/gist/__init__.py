"""Text to gist, by a model or without one."""
