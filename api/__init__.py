"""The parts of every API call: the base view, fields, rates, limits, idempotency, pagination."""
