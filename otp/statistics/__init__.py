"""Statistics of finished codes: the router's learning, savings, companies' usual spending.

No send or check waits for them.
"""
