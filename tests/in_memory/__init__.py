"""What a solver is given of large data, of rows in memory."""
