"""Frames of Spark and of this process: the canonical columns, sessions, vectors, files and names.

Readers fill frames, and every room below uses them; nothing here knows a format but Parquet."""
