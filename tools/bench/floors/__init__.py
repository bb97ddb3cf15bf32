"""Minimal implementations of the same work, to compare the rows with."""
