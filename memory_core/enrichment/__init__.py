"""The work of a language model, behind the calls and within a budget."""
