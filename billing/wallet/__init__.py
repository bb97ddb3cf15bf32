"""Wallets, and the ledger that is their only writer."""
