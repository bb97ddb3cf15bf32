"""The audit log: its events and their labels."""
