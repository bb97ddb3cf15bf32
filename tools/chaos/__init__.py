"""`make chaos`: kills programs and stores at random under load, then checks the invariants.

One seed decides which requests are sent, what is killed and when, and which call meets which
fault; only the interleaving varies. A company's backend journals its requests as a client should,
and vendors and networks fail. Afterwards the database is compared with what reached the phones
(the simulator's log) and with the responses that the backend got (its journal).
"""
