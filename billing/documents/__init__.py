"""Closing documents of months: what was used, what it cost, and the papers about it."""
