"""Budgets: what a company may spend in a day and, by country, in an hour."""
