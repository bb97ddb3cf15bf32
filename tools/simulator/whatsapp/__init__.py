"""Meta's Cloud API."""
