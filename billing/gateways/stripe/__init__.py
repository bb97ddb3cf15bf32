"""Stripe Checkout."""
