"""Pages of a run: self-contained HTML with its figures."""
