"""The audit log: what was done by whom, and its texts."""
