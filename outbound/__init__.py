"""HTTP to vendors, payment and identity providers. The guard of webhooks has its own, `egress`."""
