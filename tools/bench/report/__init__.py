"""Measurements of the machine, their arithmetic and the table."""
