"""The walk of `consolidate`: one journalled run, previewed, applied or undone."""
