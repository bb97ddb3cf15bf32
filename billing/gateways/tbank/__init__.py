"""T-Bank's SBP links for companies."""
