"""The bank invoice, paid by bank transfer."""
