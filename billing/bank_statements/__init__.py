"""The bank account's statement: exact transfers are credited automatically, doubtful ones wait."""
