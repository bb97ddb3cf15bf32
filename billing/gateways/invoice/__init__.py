"""The bank invoice."""
