"""SQL statements: how one is run, what is given to it, and what its rows become."""
