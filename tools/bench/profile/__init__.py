"""`make profile`: CPU and time of one message, by process and by cause.

There are three windows of the same load. The first is undisturbed and gives a message's cost. In
the second Python is sampled; in the third PostgreSQL logs the time of each statement. The rows of
each window add up to the CPU that the kernel counted for its processes.
"""
