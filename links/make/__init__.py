"""Making links: one, many at once, or inside a message."""
