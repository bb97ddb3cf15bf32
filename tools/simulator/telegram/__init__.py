"""Telegram's Bot API and Gateway."""
