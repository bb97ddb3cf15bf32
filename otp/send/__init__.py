"""Sending codes: new ones, resends, and codes that a company made itself."""
