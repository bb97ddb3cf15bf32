"""Codes by Telegram's own gateway."""
