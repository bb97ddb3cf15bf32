"""The programs under test, and their data."""
