"""Short links on a machine without the database, but with a replica of Redis and an origin."""
