"""Budgets: a company's spending limits per day and, by country, per hour."""
