"""Figures for the operator's pages and for Prometheus."""
