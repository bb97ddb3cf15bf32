"""Vonage Verify v2: workflows, checks, cancellation, next step of a workflow."""
