"""The public status page, and the days it shows."""
