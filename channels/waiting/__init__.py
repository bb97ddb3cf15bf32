"""Sends that wait for their first outcome."""
