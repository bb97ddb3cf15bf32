"""Statistics from finished codes: the router's learning, savings, companies' usual spending.

Nothing that a send or a check waits for.
"""
