"""Accounts with vendors: which there are and are available, circuit breakers, alerts."""
