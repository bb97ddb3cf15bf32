"""Everything that waits for the operator, on one page."""
