"""Vendors' webhooks: verified and stored here, applied later by a worker."""
