"""The bank account's statement: exact transfers pay by themselves, doubtful ones wait."""
