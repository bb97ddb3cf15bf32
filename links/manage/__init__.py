"""Managing links: changing, stopping, releasing and blocking them."""
