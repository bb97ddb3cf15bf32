"""Tells the workers that something is due, off the request thread.

A hint and no more: a lost one costs a beat tick, because the database says what is due.
"""

import redis
import structlog

from channels.vendor_accounts import registry
from config.background import CoalescingThread
from config.redis_client import call

log = structlog.get_logger(__name__)

WAKE = "wake"  # the list workers block on
MAX_ENTRIES, TRIMMED_TO = 16, 8  # entries: one wakes one worker, and each looks at everything


def key(account: str = "") -> str:
    """The list of the workers, or that of the process which an account lives in."""
    return f"{WAKE}:{account}" if account else WAKE


def push() -> bool:
    try:
        for one in ("", *registry.hosted_providers()):
            if call("LPUSH", key(one), 1) > MAX_ENTRIES:
                call("LTRIM", key(one), 0, TRIMMED_TO - 1)
    except redis.RedisError as error:
        log.warning("nudge_lost", error=type(error).__name__)
        return False
    return True


wake = CoalescingThread("nudger", push).trigger  # to be called after the commit
