"""The log of API requests that a company reads in the cabinet."""
