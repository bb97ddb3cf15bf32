"""The operator's admin of users, members and keys, and the base classes of every admin."""
