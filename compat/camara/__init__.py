"""CAMARA's one-time-password-sms: send a code with the caller's text, validate it."""
