"""`make profile`: CPU and time of one message, by process and by cause.

Three windows of the same load: undisturbed, for a message's cost; with Python sampled; and with
each statement's time logged. A window's rows add up to the CPU that the kernel counted.
"""
