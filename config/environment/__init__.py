"""The environment that settings are read from, and what production refuses of it."""
