"""What every API call shares: the base view, fields, rates, limits, idempotency, pagination."""
