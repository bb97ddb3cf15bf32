"""The demo's payment provider."""
