"""What codes that are over teach the router, what it saved, what companies usually spend.

Nothing that a send or a check waits for.
"""
