"""Schema changes while processes run: operations for migrations, and running them."""
