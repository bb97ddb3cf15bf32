"""Wallets and the ledger that alone writes them."""
