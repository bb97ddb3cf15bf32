"""Outcomes of attempts: call results, delivery receipts and other proofs, and their settlement."""
