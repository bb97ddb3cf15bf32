"""Lints the SQL of migrations made since the last release, which run beside a working service."""
