"""Incidents: notices to companies, affected companies, and pausing of accounts and channels."""
