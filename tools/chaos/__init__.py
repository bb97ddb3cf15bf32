"""`make chaos`: kills programs and stores at random under load, then checks the invariants.

One seed decides the requests, what is killed and when, and which call meets which fault; only the
interleaving varies. Afterwards the database is compared with what reached the phones (the
simulator's log) and with the responses that a company's backend got (its journal).
"""
