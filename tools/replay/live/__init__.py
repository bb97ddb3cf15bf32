"""Plays the sends of a world through the running service, and compares with virtual time."""
