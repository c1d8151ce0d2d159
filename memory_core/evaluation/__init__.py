"""Measuring recall: metrics, readers of labelled conversations, baselines, the runner.

Nothing here is tuned; everything goes through the public `remember` and `recall`.
"""
