"""Hooks of identity servers: their codes, sent to us by HTTP, go out by our channels."""
