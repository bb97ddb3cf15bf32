"""Alerts to the operators by e-mail and Telegram, without Prometheus.

`conditions` and `examinations` find what is wrong, `rules` words it, `evaluation` keeps what began
and what is over, `notices` sends it, `stand_in` does all that while no worker lives.
"""
