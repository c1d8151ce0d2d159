"""Memory for what others build agents with: one file for each framework, loaded by who uses it."""
