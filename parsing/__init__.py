"""Parsers of input from outside, one for each kind: integer, day, line of text, host."""
