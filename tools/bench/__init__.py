"""`make bench`: what this service does in a second, beside the floor under it.

Each row is measured interleaved with its floor, on the same machine in the same minutes, and
reported as a ratio; CPU comes from /proc. Nothing here is a test: a row that misses is printed so.
"""
