"""What became of an attempt: outcomes, delivery receipts and other proofs, with their money."""
