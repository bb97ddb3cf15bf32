"""Accepting a send: limits, routing, the statement that pays, the wait for a first outcome."""
