"""Vendor accounts: configured and available accounts, circuit breakers, alerts."""
