"""Distinguishes attacks on paid messages from people. Pure: no database, no clock, no settings.

`otp.protection` runs the guard in the service, `tools/replay` in virtual time; `docs/routing.md`
explains how it decides.
"""
