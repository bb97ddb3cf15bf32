"""`make chaos`: everything killed at random under load, and then the books are looked at.

One seed decides what is ordered, what is killed and when, and which call meets which fault; only
the interleaving is the machine's own. A company's backend keeps its orders as a client should,
vendors misbehave, networks too, and afterwards what the database says is held against what
reached the phones (the simulator's log) and what the backend was told (its journal).
"""
