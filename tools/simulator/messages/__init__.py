"""Simulated messages and the phones that receive them."""
