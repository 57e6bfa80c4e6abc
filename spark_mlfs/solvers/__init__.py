"""From statistics to scores, on the driver: NumPy and SciPy alone."""
