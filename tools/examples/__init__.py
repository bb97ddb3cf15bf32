"""Runs the programs of docs/examples against a service and judges what came of it."""
