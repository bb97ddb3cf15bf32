"""Sending codes: new ones, resends, and custom codes, which a company made itself."""
