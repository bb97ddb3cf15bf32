"""PostgreSQL, Redis, and what each process caches from them."""
