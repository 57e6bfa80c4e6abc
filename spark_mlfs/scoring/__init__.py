"""Tagging, checking and refitting with a saved pipeline."""
