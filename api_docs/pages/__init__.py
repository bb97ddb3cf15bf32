"""The documentation's pages."""
