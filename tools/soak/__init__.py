"""Steady load for an hour: whether memory, connections and dead rows stay level."""
