"""Seals: closed days of transfers, by which the books stay provable (docs/decisions/0020)."""
