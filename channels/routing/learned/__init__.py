"""Keeps what `channels.routing.smart` learned between processes, and plans sends by it.

`otp.statistics.route_learning` learns, as it knows which codes were entered. docs/routing.md says
how.
"""
