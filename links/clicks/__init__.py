"""Clicks: buffered, streamed through Redis, classified, counted, and reported to companies."""
