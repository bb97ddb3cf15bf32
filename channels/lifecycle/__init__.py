"""The state machine of messages and attempts, and the fallback chain. Pure functions."""
