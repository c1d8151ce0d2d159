"""To be written: what this package is for, in one sentence."""
