"""Companies and their members: use cases, roles, countries."""
