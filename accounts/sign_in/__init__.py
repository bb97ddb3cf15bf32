"""Signing in and up: passwords, second factors, throttling, allauth's forms and adapter."""
