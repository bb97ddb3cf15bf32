"""What comes from outside, read by one parser for each kind: integer, day, line of text, host."""
