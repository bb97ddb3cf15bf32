"""Accepts a message: the limits, and the commit that pays for it."""
