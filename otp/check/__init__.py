"""Checking codes that people type in, and settling those that were right."""
