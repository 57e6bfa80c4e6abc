"""Texts as numbers: their words, runs of these, what they weigh, and stop words by language."""
