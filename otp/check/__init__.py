"""Checking codes that people type in, and settling the correct ones."""
