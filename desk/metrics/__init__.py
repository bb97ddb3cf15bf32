"""Figures for the operator, and Prometheus's page."""
