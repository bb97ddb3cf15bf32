"""Stores what `channels.routing.smart` learned, and plans sends by it.

`otp.statistics.route_learning` teaches it, because that package knows which codes were entered.
docs/routing.md explains how.
"""
