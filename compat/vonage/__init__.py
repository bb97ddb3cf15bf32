"""Vonage Verify v2: workflows, checks, cancellation, the next step of a workflow."""
