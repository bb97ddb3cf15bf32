"""The servers' view, and the cabinet's pages about hooks."""
