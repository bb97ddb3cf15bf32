"""Rate limits of a request, checked and counted in one atomic Redis script.

All limits are checked before any is counted, so a refused request uses up none. Redis keys hold a
keyed hash of the phone, never the phone.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

import redis
import structlog
from django.conf import settings
from redis.exceptions import NoScriptError

from processes.process_state import on_reset
from storage.redis_client import BackOff, call

log = structlog.get_logger(__name__)

DUPLICATE_SECONDS = 10  # longer than a call's statement takes, even when it waits for locks

# KEYS: cool-down, pool, reserve, note of a draw on the reserve, windows…
# ARGV: cool-down ms (0: none), its holder, the key's hash, then for pool and reserve the ms per
# slot and the ms of all slots, the first sends that may draw on the reserve, then limit, ms…
# A duplicate arrives while the holder runs. After DUPLICATE_SECONDS the holder must have crashed
# before its commit (or the database would have answered), so the repeat takes over its slot.
# A bucket stores the time at which it is full again (GCRA), which makes the wait exact.
_ACQUIRE = f"""
if ARGV[1] ~= '0' then
  local held = redis.call('GET', KEYS[1])
  if held then
    local left = redis.call('PTTL', KEYS[1])
    if ARGV[3] == '' or string.sub(held, -#ARGV[3]) ~= ARGV[3] then return {{-1, left}} end
    if tonumber(ARGV[1]) - left < {DUPLICATE_SECONDS * 1000} then return {{-2, 0}} end
  end
end
for i = 5, #KEYS do
  if tonumber(redis.call('GET', KEYS[i]) or '0') >= tonumber(ARGV[2 * i - 1]) then
    return {{i - 4, redis.call('PTTL', KEYS[i])}}
  end
end
if KEYS[2] ~= '' then
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  local function full_after(bucket)
    return math.max(tonumber(redis.call('GET', KEYS[bucket]) or '0'), now) + ARGV[2 * bucket]
  end
  local bucket, full = 2, full_after(2)
  local wait = full - now - ARGV[5]
  if wait > 0 and tonumber(redis.call('GET', KEYS[#KEYS]) or '0') < tonumber(ARGV[8]) then
    bucket, full = 3, full_after(3)
    wait = math.min(wait, math.max(0, full - now - ARGV[7]))
  end
  if wait > 0 then return {{-3, wait}} end
  redis.call('SET', KEYS[bucket], string.format('%.0f', full), 'PX', full - now)
  if bucket == 3 then redis.call('SET', KEYS[4], '1', 'PX', ARGV[5]) end
end
for i = 5, #KEYS do
  if redis.call('INCR', KEYS[i]) == 1 then redis.call('PEXPIRE', KEYS[i], ARGV[2 * i]) end
end
if ARGV[1] ~= '0' then redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[1]) end
return {{0, 0}}
"""

# KEYS: cool-down, count of released slots, pool, reserve, note of a draw on it, windows…
# ARGV: prefix of the holder, limit, ms, then for pool and reserve the ms per slot.
_RELEASE = """
if KEYS[2] ~= '' then
  local times = redis.call('INCR', KEYS[2])
  if times == 1 then redis.call('PEXPIRE', KEYS[2], ARGV[3]) end
  if times > tonumber(ARGV[2]) then return 0 end
end
local held = redis.call('GET', KEYS[1])
if held and string.sub(held, 1, #ARGV[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end
if KEYS[3] ~= '' then
  local bucket = 3 + redis.call('DEL', KEYS[5])
  local full, interval = tonumber(redis.call('GET', KEYS[bucket]) or '0'), ARGV[bucket + 1]
  local left = redis.call('PTTL', KEYS[bucket]) - interval
  if left > 0 then
    redis.call('SET', KEYS[bucket], string.format('%.0f', full - interval), 'PX', left)
  else
    redis.call('DEL', KEYS[bucket])
  end
end
for i = 6, #KEYS do
  if tonumber(redis.call('GET', KEYS[i]) or '0') > 0 then redis.call('DECR', KEYS[i]) end
end
return 1
"""

# KEYS: cool-down, pool, reserve, windows… ARGV: for pool and reserve the ms per slot and the ms of
# all slots, the first sends that may draw on the reserve, the limit of each window.
_WAIT = """
local wait = redis.call('PTTL', KEYS[1])
for i = 4, #KEYS do
  if tonumber(redis.call('GET', KEYS[i]) or '0') >= tonumber(ARGV[i + 2]) then
    wait = math.max(wait, redis.call('PTTL', KEYS[i]))
  end
end
if KEYS[2] ~= '' then
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  local function left(bucket)
    local full = math.max(tonumber(redis.call('GET', KEYS[bucket]) or '0'), now)
    return math.max(0, full + ARGV[2 * bucket - 3] - now - ARGV[2 * bucket - 2])
  end
  local pool = left(2)
  if tonumber(redis.call('GET', KEYS[#KEYS]) or '0') < tonumber(ARGV[5]) then
    pool = math.min(pool, left(3))
  end
  wait = math.max(wait, pool)
end
return {wait}
"""

COOLING_DOWN = -1
DUPLICATE = -2
POOL_EMPTY = -3
GRANTED = 0


class LimiterDownError(Exception):
    """Redis did not respond in time; the caller counts in Postgres instead."""


@dataclass(frozen=True, slots=True)
class Window:
    key: str
    limit: int
    seconds: int


@dataclass(frozen=True, slots=True)
class Bucket:
    """A leaky bucket of `size` slots; a taken slot is free again after `seconds / size`."""

    key: str
    size: int
    seconds: int

    @property
    def interval(self) -> int:
        """Milliseconds per slot."""
        return self.seconds * 1000 // self.size


@dataclass(frozen=True, slots=True)
class Pool:
    """A bucket that several owners share.

    While it is empty, an owner with fewer than `reserved_sends` in the last window draws on the
    reserve, so the others cannot lock it out.
    """

    shared: Bucket
    reserve: Bucket
    reserved_sends: int

    def keys(self, holder: str) -> list[str]:
        note = f"{self.reserve.key}:{holder.partition(':')[0]}"
        return [self.shared.key, self.reserve.key, note]


@dataclass(frozen=True, slots=True)
class LimitResult:
    """The result of a request for a slot.

    `outcome` is GRANTED, COOLING_DOWN, DUPLICATE, POOL_EMPTY, or the number (from 1) of the full
    window.
    """

    outcome: int
    wait: int  # seconds until a retry may succeed


@lru_cache(maxsize=1000)  # a request hashes it three times
def hashed(text: str) -> str:
    key = hashlib.sha256(settings.SECRET_KEY.encode()).digest()
    return hashlib.blake2b(text.encode(), key=key, digest_size=12).hexdigest()


@cache
def _digest(source: str) -> str:
    return hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest()


def _evaluate(source: str, *arguments: str | int) -> list[int]:
    try:
        result: list[int] = call("EVALSHA", _digest(source), *arguments)
    except NoScriptError:  # the server has not loaded the script yet
        result = call("EVAL", source, *arguments)
    return result


_back_off = BackOff()
on_reset(_back_off.reset)


def _run(source: str, keys: Sequence[str], args: Sequence[str | int]) -> list[int]:
    if _back_off.is_active:
        raise LimiterDownError
    try:
        return _evaluate(source, len(keys), *keys, *args)
    except redis.RedisError as error:
        _back_off.start()
        log.warning("send_limiter_unavailable", error=type(error).__name__)
        raise LimiterDownError from error


def acquire(
    windows: Sequence[Window],
    *,
    cool_down: str = "",
    seconds: int = 0,
    holder: str = "",
    key_hash: str = "",
    pool: Pool | None = None,
) -> LimitResult:
    """Acquires a slot in every window, in the pool and, if given, the cool-down.

    `holder` names who holds the cool-down. It ends with `key_hash`, the hash of an Idempotency-Key,
    which distinguishes a parallel duplicate of the holder from another request.
    """
    keys = [cool_down, *_pool_keys(pool, holder), *(window.key for window in windows)]
    args: list[str | int] = [seconds * 1000, holder, key_hash]
    args += _pool_bounds(pool)
    for window in windows:
        args += [window.limit, window.seconds * 1000]
    outcome, millis = _run(_ACQUIRE, keys, args)
    return LimitResult(outcome, max(1, -(-millis // 1000)))


def seconds_until_granted(
    windows: Sequence[Window], *, cool_down: str, pool: Pool | None = None
) -> int:
    """Seconds until `acquire` would succeed; acquires nothing."""
    keys = [cool_down, *_pool_keys(pool, "")[:2], *(window.key for window in windows)]
    args = [*_pool_bounds(pool), *(window.limit for window in windows)]
    (millis,) = _run(_WAIT, keys, args)
    return max(0, -(-millis // 1000))


def release(
    windows: Sequence[Window],
    *,
    cool_down: str,
    holder: str,
    limit: Window | None = None,
    pool: Pool | None = None,
) -> None:
    """Releases a slot; with `limit`, only within that limit on releases."""
    keys = [cool_down, limit.key if limit else "", *_pool_keys(pool, holder)]
    args: list[str | int] = [holder, *([limit.limit, limit.seconds * 1000] if limit else [0, 0])]
    args += [pool.shared.interval, pool.reserve.interval] if pool else [0, 0]
    try:
        _run(_RELEASE, [*keys, *(window.key for window in windows)], args)
    except LimiterDownError:
        log.warning("send_limit_not_released")


def _pool_keys(pool: Pool | None, holder: str) -> list[str]:
    return pool.keys(holder) if pool else [""] * 3


def _pool_bounds(pool: Pool | None) -> list[int]:
    if pool is None:
        return [0] * 5
    sizes = (pool.shared, pool.reserve)
    bounds = [ms for bucket in sizes for ms in (bucket.interval, bucket.interval * bucket.size)]
    return [*bounds, pool.reserved_sends]


def count_or_wait(window: Window) -> int:
    """Counts once in this window; returns 0, or the seconds to wait if it is full.

    Nothing is counted without Redis, so something else must enforce the limit then.
    """
    try:
        limit = acquire([window])
    except LimiterDownError:
        return 0
    return 0 if limit.outcome == GRANTED else limit.wait
