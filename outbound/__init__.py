"""HTTP to vendors, payment and identity providers; webhooks have `webhooks.egress` instead."""
