"""When a webhook that failed is tried again."""

import random

# Seconds between tries; the last try is more than a day after the first.
RETRY_DELAYS = (5, 300, 1800, 7200, 18_000, 36_000, 36_000)
JITTER = 0.5  # fraction of a delay, plus or minus: simultaneous failures do not retry together
# A longer Retry-After is cut to this: the tries end after a day.
MAX_RETRY_AFTER = 3600.0  # seconds


def retry_delay(tries: int) -> float:
    base = RETRY_DELAYS[tries - 1]
    return random.uniform(base * (1 - JITTER), base * (1 + JITTER))  # noqa: S311 - not a secret
