"""Seals: closed days of transfers that keep the books provable (docs/decisions/0020)."""
