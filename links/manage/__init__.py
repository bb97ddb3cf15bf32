"""Links once they are made: changed, stopped, released, blocked."""
