"""Drills: one part of the service is lost under load, and the figures say what that cost.

They use the load, the journal and the checks of `tools.chaos`; the fault is one, and known.
"""
