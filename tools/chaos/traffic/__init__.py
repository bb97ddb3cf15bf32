"""The load: companies and their clients, phone users, and the wait for open messages."""
