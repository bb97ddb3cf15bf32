"""Twilio: SMS."""
