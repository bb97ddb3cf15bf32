"""The API of links: the calls as declared, what they read, and their views."""
