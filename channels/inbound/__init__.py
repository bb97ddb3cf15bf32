"""Vendors' calls to us: verified, stored, and applied later by a worker."""
