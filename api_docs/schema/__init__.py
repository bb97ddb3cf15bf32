"""The OpenAPI schema."""
