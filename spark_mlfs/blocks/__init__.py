"""Rows as blocks of raw buffers, packed once: features, labels, weights and ids, and their
profile."""
