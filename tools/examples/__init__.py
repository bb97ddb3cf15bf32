"""Runs the programs of docs/examples against a service and checks their effects."""
