"""Counts, sums, distances and informations of arrays: NumPy and SciPy alone, in the tasks."""
