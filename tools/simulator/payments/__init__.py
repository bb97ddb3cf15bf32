"""Plays the payment providers: Stripe Checkout, YooKassa, and T-Bank's links and statement."""
