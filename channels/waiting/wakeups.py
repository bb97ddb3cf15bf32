"""Wakes the workers when something is due, off the request thread.

Only a hint: a lost wake-up costs a second, because the database decides what is due. Concurrent
wake-ups are coalesced: `CoalescingThread` sends them.
"""

import redis
import structlog

from channels.vendor_accounts import registry
from processes.background import CoalescingThread
from storage.redis_client import call

log = structlog.get_logger(__name__)

_LIST = "wake"  # the list workers block on
# Entries of the list: each wakes one worker, which claims everything due.
MAX_ENTRIES = 16
TRIMMED_TO = 8


def key(account: str = "") -> str:
    """The Redis list of the workers, or of the process that hosts this account."""
    return f"{_LIST}:{account}" if account else _LIST


def wake_now() -> bool:
    try:
        for account in ("", *registry.hosted_providers()):
            if call("LPUSH", key(account), 1) > MAX_ENTRIES:
                call("LTRIM", key(account), 0, TRIMMED_TO - 1)
    except redis.RedisError as error:
        log.warning("wakeup_lost", error=type(error).__name__)
        return False
    return True


wake_workers = CoalescingThread("waker", wake_now).trigger  # call after the commit
