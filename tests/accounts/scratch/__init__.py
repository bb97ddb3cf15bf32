"""Migrations of a table that only tests/accounts/test_migrate.py knows."""
