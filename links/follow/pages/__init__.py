"""Pages that a visitor may see instead of the target, and what is written there."""
