"""`make bench`: the service's speed, compared with minimal implementations (floors).

Each row is measured interleaved with its floor, on the same machine in the same minutes, and
reported as a ratio. Rows are no tests: a missed budget is only printed.
"""
