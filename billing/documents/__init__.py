"""Closing documents of months: usage, costs, and the papers about them."""
