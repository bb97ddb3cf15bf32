"""The people we write to: opt-out, shared contacts, vendors' ids for them."""
