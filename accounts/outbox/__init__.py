"""Outboxes: events for webhooks and e-mails, written in the transaction that caused them."""
