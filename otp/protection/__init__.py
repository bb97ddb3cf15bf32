"""Runs the guard of `channels.guard` over what becomes of codes, and acts on its verdicts.

`guard_evidence` looks every two seconds at how codes ended, and `restrictions` keeps what is to
be done about which numbers; `send_check` obeys that at each send, without a query of its
own, and `exemptions` says for whom it does not.
docs/routing.md says how the guard decides.
"""
