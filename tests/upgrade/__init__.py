"""The last release and this tree beside each other, on one database and one Redis."""
