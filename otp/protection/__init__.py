"""Runs the guard of `channels.guard` on the outcomes of codes, and enforces its assessments.

`guard_evidence` reads the outcomes of codes every two seconds. `restrictions` stores the steps
against scopes of numbers. `send_check` enforces them at each send, without a query, and decides who
is exempt. docs/routing.md explains how the guard decides.
"""
