"""What Redis holds of links: each function is one round trip, and raises what the client does.

Under a key is what is known of the row with exactly that key: the row, `null` when there is none,
or, for a while after a change, an empty value, so that neither a reader nor a maker that is slower
than the change can bring the old row back.
"""

from collections.abc import Collection, Mapping
from typing import Any

from redis.client import Pipeline

from config.redis_client import redis_client
from links.follow import cached_row
from links.follow.cached_row import CachedRow
from links.models import Link

INVALIDATED_TTL = 60  # seconds Redis keeps nothing of a changed link

# KEYS: of new links. ARGV: the row of each, empty where only the database can tell it, and its ms.
# Whatever else is held of a key, such as the dead row whose name was handed on, gives way to an
# empty value; an empty value stays. Answers how many keys were asked for too early.
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


def read(keys: Collection[str]) -> dict[str, CachedRow | None]:
    """What is known, of these keys alone."""
    values: Any = redis_client().mget(map(cached_row.redis_key, keys))
    return {key: cached_row.unpack(value) for key, value in zip(keys, values, strict=True) if value}


def store(known: Mapping[str, CachedRow | None]) -> None:
    """What the database said; nothing that is there is overwritten."""
    with redis_client().pipeline(transaction=False) as pipe:
        for key, row in known.items():
            pipe.set(
                cached_row.redis_key(key), cached_row.pack(row), px=cached_row.ttl_ms(row), nx=True
            )
        pipe.execute()


def store_new(links: Collection[Link]) -> bool:
    """Of new links; whether somebody asked for one of them before it was there."""
    words: list[bytes | int] = []
    for row in map(cached_row.from_link, links):
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
