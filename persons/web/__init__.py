"""HTTP: the API's calls about one person's data."""
