"""A stand-in for the carriers: vendors' wire formats on loopback, and phones one can look into.

Its own process (`python -m tools.simulator`) that imports nothing of the project, so that it cannot
share a mistake with the providers it judges. For development, tests, bench and chaos only.
"""
