"""Incidents: what companies read, whom it affects, and the pause of accounts and channels."""
