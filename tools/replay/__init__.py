"""Plays described populations in virtual time through the router and the guard."""
