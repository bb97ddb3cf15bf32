"""Makes links: single ones, many at once, or inside a message."""
