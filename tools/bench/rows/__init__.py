"""What each row of the report measures."""
