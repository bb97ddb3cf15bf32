"""Made-up history for demos and benchmarks: messages with all that belongs to them, and its money.

Everything about a message follows from its day and its number in it, so the same call makes the
same history.
"""

from otp.demo_history.filling import BULK, is_seeded, seed, seed_companies

__all__ = ["BULK", "is_seeded", "seed", "seed_companies"]
