"""Counting with limits: every limit of a request judged and counted in one atomic script.

All are checked before any is counted, so a refused request eats no other budget. Keys hold a
keyed hash of the phone, never the phone.
"""

import hashlib
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

import redis
import structlog
from django.conf import settings
from redis.exceptions import NoScriptError

from config.redis_client import call

log = structlog.get_logger(__name__)

TWIN_SECONDS = 10  # longer than a call's statement takes, even when it waits for locks

# KEYS: cool-down, windows… ARGV: cool-down ms (0: none), its holder, the twin's mark, limit ms…
# A twin comes while the holder runs. Later than that the holder has died before its commit, or
# the repeat would have been answered from the database: it takes the place over.
_TAKE = f"""
if ARGV[1] ~= '0' then
  local held = redis.call('GET', KEYS[1])
  if held then
    local left = redis.call('PTTL', KEYS[1])
    if ARGV[3] == '' or string.sub(held, -#ARGV[3]) ~= ARGV[3] then return {{-1, left}} end
    if tonumber(ARGV[1]) - left < {TWIN_SECONDS * 1000} then return {{-2, 0}} end
  end
end
for i = 2, #KEYS do
  if tonumber(redis.call('GET', KEYS[i]) or '0') >= tonumber(ARGV[2 * i]) then
    return {{i - 1, redis.call('PTTL', KEYS[i])}}
  end
end
for i = 2, #KEYS do
  if redis.call('INCR', KEYS[i]) == 1 then redis.call('PEXPIRE', KEYS[i], ARGV[2 * i + 1]) end
end
if ARGV[1] ~= '0' then redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[1]) end
return {{0, 0}}
"""

# KEYS: cool-down, count of places given back, windows… ARGV: holder's beginning, limit, ms.
_GIVE_BACK = """
if KEYS[2] ~= '' then
  local times = redis.call('INCR', KEYS[2])
  if times == 1 then redis.call('PEXPIRE', KEYS[2], ARGV[3]) end
  if times > tonumber(ARGV[2]) then return 0 end
end
local held = redis.call('GET', KEYS[1])
if held and string.sub(held, 1, #ARGV[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
for i = 3, #KEYS do
  if tonumber(redis.call('GET', KEYS[i]) or '0') > 0 then redis.call('DECR', KEYS[i]) end
end
return 1
"""

COOLING, TWIN, GRANTED = -1, -2, 0
BACK_OFF = 1.0  # seconds Redis is left alone after it failed us


class LimiterDownError(Exception):
    """Redis did not answer in time; the caller counts in Postgres instead."""


@dataclass(frozen=True, slots=True)
class Window:
    key: str
    limit: int
    seconds: int


@dataclass(frozen=True, slots=True)
class Place:
    """The answer: GRANTED, COOLING, TWIN, or the number (from 1) of the window that is full."""

    verdict: int
    wait: int  # seconds until it is worth asking again


@lru_cache(maxsize=1000)  # a request asks three times
def hashed(text: str) -> str:
    key = hashlib.sha256(settings.SECRET_KEY.encode()).digest()
    return hashlib.blake2b(text.encode(), key=key, digest_size=12).hexdigest()


@cache
def _digest(source: str) -> str:
    return hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest()


def _evaluate(source: str, *words: str | int) -> list[int]:
    try:
        result: list[int] = call("EVALSHA", _digest(source), *words)
    except NoScriptError:  # a server that has not seen it yet
        result = call("EVAL", source, *words)
    return result


_down_until = 0.0
_lock = threading.Lock()


def _run(source: str, keys: Sequence[str], args: Sequence[str | int]) -> list[int]:
    global _down_until  # noqa: PLW0603 - one circuit per process
    if time.monotonic() < _down_until:
        raise LimiterDownError
    try:
        return _evaluate(source, len(keys), *keys, *args)
    except redis.RedisError as error:
        with _lock:
            _down_until = time.monotonic() + BACK_OFF
        log.warning("limiter_down", error=type(error).__name__)
        raise LimiterDownError from error


def take(
    windows: Sequence[Window],
    *,
    cool_down: str = "",
    seconds: int = 0,
    holder: str = "",
    mark: str = "",
) -> Place:
    """Ask for a place under every window and, if named, the cool-down.

    `holder` is what the cool-down will be held by; it ends with `mark`, the hash of an
    Idempotency-Key, by which a parallel twin of the holder is told from a stranger.
    """
    args: list[str | int] = [seconds * 1000, holder, mark]
    for window in windows:
        args += [window.limit, window.seconds * 1000]
    verdict, millis = _run(_TAKE, [cool_down, *(window.key for window in windows)], args)
    return Place(verdict, max(1, -(-millis // 1000)))


def give_back(
    windows: Sequence[Window], *, cool_down: str, holder: str, back: Window | None = None
) -> None:
    """Return a place; with `back`, only if that did not happen too often lately."""
    keys = [cool_down, back.key if back else "", *(window.key for window in windows)]
    times = [back.limit, back.seconds * 1000] if back else [0, 0]
    try:
        _run(_GIVE_BACK, keys, [holder, *times])
    except LimiterDownError:
        log.warning("place_not_given_back")


def count(window: Window) -> Place:
    """One more in this window; the verdict is GRANTED or 1."""
    return take([window])
