"""What is published when links or stops have changed; a subscriber reads again what it cached."""

CHANNEL = "links"
LINKS_CHANGED, STOPS_CHANGED = b"", b"stops"
