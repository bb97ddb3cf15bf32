"""The channels a message takes: the first, and those it may fall back to."""
