"""The API of links: the declared calls, their fields, and their views."""
