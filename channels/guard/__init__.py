"""Tells attacks on paid messages from people. Pure: no database, no clock, no settings.

`docs/routing.md` says how it decides; today `tools/replay` alone runs it.
"""
