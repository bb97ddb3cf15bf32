"""Clicks: buffered, streamed through Redis, classified, counted, and told to companies."""
