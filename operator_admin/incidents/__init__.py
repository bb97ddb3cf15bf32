"""Incidents: what companies are told, who is hit, and the pause of accounts and channels."""
