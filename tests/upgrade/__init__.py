"""The last release and this tree side by side, on one database and one Redis."""
