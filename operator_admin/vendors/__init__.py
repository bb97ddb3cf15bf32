"""The desk's pages about vendors' accounts."""
