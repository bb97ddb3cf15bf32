"""The cabinet's pages about a company: keys, settings, members."""
