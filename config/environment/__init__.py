"""The environment variables that settings are read from, and production's checks of them."""
