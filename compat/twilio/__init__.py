"""Twilio Verify v2: the calls of services, verifications, checks and attempts."""
