"""The least that the same work can cost, to compare the rows with."""
