"""Load generators and the HTTP client."""
