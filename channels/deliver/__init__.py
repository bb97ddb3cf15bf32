"""Delivering what was accepted: the dispatcher that claims messages, and the sweeps behind it."""
