"""Accepts a send: limits, routing, the paying statement, the wait for the first outcome."""
