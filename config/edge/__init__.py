"""The redirect of short links as a process of its own, without the database."""
