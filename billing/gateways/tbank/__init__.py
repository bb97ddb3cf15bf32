"""T-Bank: SBP links for companies."""
