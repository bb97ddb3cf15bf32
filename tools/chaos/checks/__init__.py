"""The checks after a run: invariants, errors in the logs, and the phones' own records."""
