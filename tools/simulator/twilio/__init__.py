"""Twilio's API."""
