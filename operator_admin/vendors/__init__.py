"""The admin's pages about vendors' accounts."""
