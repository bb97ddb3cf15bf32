"""Tells the workers that something is due, off the request thread.

A hint and no more: a lost one costs a beat tick, because the database says what is due.
"""

import redis
import structlog

from config.errand import Errand
from config.redis_client import call

log = structlog.get_logger(__name__)

WAKE = "wake"  # the list workers block on
LONGEST, KEPT = 16, 8  # entries: one wakes one worker, and each looks at everything


def push() -> bool:
    try:
        if call("LPUSH", WAKE, 1) > LONGEST:
            call("LTRIM", WAKE, 0, KEPT - 1)
    except redis.RedisError as error:
        log.warning("nudge_lost", error=type(error).__name__)
        return False
    return True


wake = Errand("nudger", push).ask  # to be called after the commit
