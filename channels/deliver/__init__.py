"""Delivery of accepted messages: the dispatcher that claims them, and the periodic sweeps."""
