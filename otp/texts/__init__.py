"""The texts that codes are sent in."""
