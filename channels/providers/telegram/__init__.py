"""Telegram: the Gateway for codes, the Bot API for texts and links."""
