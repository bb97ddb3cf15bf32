"""`make profile`: where the CPU and the time of one message go, by process and by cause.

Three windows of the same load. The first is undisturbed: its totals are what a message costs. In
the second Python is sampled, in the third PostgreSQL logs what each statement took. The rows of
each add up to the CPU that the kernel counted for the same processes in the same window.
"""
