"""Hooks of identity servers, which send us their codes by HTTP: we deliver them by our channels."""
