"""PostgreSQL, Redis and what processes cache of them."""
