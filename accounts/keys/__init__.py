"""API keys: their format, and the process cache that authenticates them."""
