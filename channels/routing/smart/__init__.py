"""Chooses channels and patience by what was learned. Pure: no database, no clock, no settings.

`docs/routing.md` says how it decides; today `tools/replay` alone runs it.
"""
