"""The texts of codes."""
