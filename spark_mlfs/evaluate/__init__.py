"""Metrics, splits, trials and comparisons of methods."""
