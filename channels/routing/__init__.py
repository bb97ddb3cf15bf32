"""The channels of a message: the first, and its fallbacks."""
