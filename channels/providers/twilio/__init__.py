"""SMS by Twilio."""
