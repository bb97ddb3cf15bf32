"""The texts that codes travel in."""
