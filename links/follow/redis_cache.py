"""Links cached in Redis. Each function is one round trip, and raises what the client raises.

A key holds the row with exactly that key, `null` when there is none, or, for a while after a
change, an empty value: a reader or creator that is slower than the change cannot store the old row
again.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from redis.client import Pipeline

from config.storage.redis_client import Command, call, call_together, redis_client
from links.follow import cached_row, database_row
from links.follow.cached_row import CachedRow
from links.models import Link

INVALIDATED_TTL = 60  # seconds that a changed link stays out of Redis

# KEYS: of new links. ARGV: the row of each, empty where only the database knows it, and its TTL in
# ms. Any other value of a key, such as the dead row whose alias was reassigned, becomes empty; an
# empty value stays. Returns how many keys were requested before their links existed.
_STORE_NEW = f"""
local early = 0
for i, key in ipairs(KEYS) do
  local held, row = redis.call('GET', key), ARGV[2 * i - 1]
  if held and held ~= row then early = early + 1 end
  if row ~= '' and (not held or held == 'null') then
    redis.call('SET', key, row, 'PX', ARGV[2 * i])
  elseif held and held ~= '' and held ~= row then
    redis.call('SET', key, '', 'EX', {INVALIDATED_TTL})
  end
end
return early
"""


def read(keys: Sequence[str]) -> dict[str, CachedRow | None]:
    """The cached rows among these keys."""
    values = call("MGET", *map(cached_row.redis_key, keys))
    return cached_row.unpack_all(keys, values)


def store(known: Mapping[str, CachedRow | None]) -> None:
    """Stores rows read from the database; overwrites nothing."""
    commands: list[Command] = [
        ("SET", cached_row.redis_key(key), cached_row.pack(row), "PX", cached_row.ttl_ms(row), "NX")
        for key, row in known.items()
    ]
    call_together(*commands)


def store_new(links: Collection[Link]) -> bool:
    """Stores new links; returns whether one of them was requested before it existed."""
    words: list[bytes | int] = []
    for row in map(database_row.from_link, links):
        words += [cached_row.pack(row) if row else b"", cached_row.ttl_ms(row)]
    keys = [cached_row.redis_key(link.key) for link in links]
    early: Any = redis_client().eval(_STORE_NEW, len(keys), *keys, *words)
    return bool(early)


def invalidate(links: Collection[Link]) -> None:
    with redis_client().pipeline(transaction=False) as pipe:
        queue_invalidation(pipe, [link.key for link in links])
        pipe.execute()


def queue_invalidation(pipe: Pipeline, keys: Collection[str]) -> None:
    for key in keys:
        pipe.set(cached_row.redis_key(key), b"", ex=INVALIDATED_TTL)
