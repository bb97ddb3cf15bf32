"""Alerts to the operators by e-mail and Telegram, without Prometheus.

`conditions` detect problems, `rules` has their texts, `evaluation` records their beginning and end,
`notifications` sends them, `watchdog` does all this while no worker is alive.
"""
