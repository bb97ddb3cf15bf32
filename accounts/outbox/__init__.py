"""Outboxes: events for webhooks and letters, written in the transaction that caused them."""
