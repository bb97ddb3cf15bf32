"""Alerts to the operators by e-mail and Telegram, without Prometheus.

`conditions` find what is wrong, `rules` words it, `evaluation` keeps what began
and what is over, `notifications` sends it, `watchdog` does all that while no worker lives.
"""
