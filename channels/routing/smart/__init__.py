"""Chooses channels and patience from past outcomes. Pure: no database, no clock, no settings.

`channels.routing.learned` runs it in the service, `tools/replay` in virtual time; `docs/routing.md`
explains how it decides.
"""
