"""Tells companies of people's clicks: `link.clicked`, one event for a link in a batch of clicks.

The stream of clicks is read by a group of its own, so that whoever else counts them is not in
the way. An entry is done with once its events are committed; one read twice says the same under
the same keys, and so nothing new.
"""

from collections import defaultdict
from typing import Any
from uuid import UUID

import orjson
import structlog
from django.conf import settings
from django.db import connection
from redis.exceptions import RedisError, ResponseError

from accounts import events
from config.ids import uuid7
from config.redis_client import patient_redis
from links.clicks import STREAM
from links.visitors import Kind

log = structlog.get_logger(__name__)

GROUP, READER = "callbacks", "teller"
ENTRIES = 100  # read at once

Row = tuple[UUID, UUID, str, int, float]  # event, link, key, clicks, the last one's Unix seconds

_CLICKED = f"""
SELECT n.event_id AS id, l.company_id, l.mode, 'link.clicked' AS kind, n.key,
  jsonb_build_object(
    'id', 'lnk_' || replace(l.id::text, '-', ''), 'short_url', %(base)s::text || l.slug,
    'url', l.url, 'clicks', n.clicks, 'clicked_at', {events.iso("to_timestamp(n.at)")},
    'test', l.mode = 'test') AS data, to_timestamp(n.at) AS at
FROM unnest(%(events)s::uuid[], %(links)s::uuid[], %(keys)s::text[], %(clicks)s::int[],
            %(times)s::float[]) AS n(event_id, link_id, key, clicks, at)
JOIN links_link l ON l.id = n.link_id"""  # noqa: S608
TELL = f"WITH {events.appending(_CLICKED)}"


def tell_clicks() -> int:
    """Returns how many entries were read; without Redis there are none."""
    try:
        entries = _read("0") or _read(">")  # first what a reader died with
        if entries:
            tell([row for _id, entry in entries for row in _rows(entry)])
            patient_redis().xack(STREAM, GROUP, *(entry_id for entry_id, _ in entries))
    except (RedisError, OSError) as error:
        log.warning("clicks_not_read", error=type(error).__name__)
        return 0
    return len(entries)


def tell(rows: list[Row]) -> None:
    if not rows:
        return
    ids, links, keys, clicks, times = (list(column) for column in zip(*rows, strict=True))
    params: dict[str, Any] = {
        "base": f"{settings.SHORT_URL}/",
        "events": ids,
        "links": links,
        "keys": keys,
        "clicks": clicks,
        "times": times,
    }
    with connection.cursor() as cursor:
        cursor.execute(TELL, params)
        events.announce(cursor.rowcount)


def _read(start: str) -> list[tuple[bytes, dict[bytes, bytes]]]:
    try:
        found: Any = patient_redis().xreadgroup(GROUP, READER, {STREAM: start}, count=ENTRIES)
    except ResponseError:  # no such group yet, or the stream went with it
        patient_redis().xgroup_create(STREAM, GROUP, id="0", mkstream=True)
        return []
    return found[0][1] if found else []


def _rows(entry: dict[bytes, bytes]) -> list[Row]:
    """People's clicks of an entry, by link."""
    times: dict[str, list[int]] = defaultdict(list)
    for link_id, kind, at, *_rest in orjson.loads(entry[b"batch"]) if entry else []:
        if kind == Kind.PERSON:
            times[link_id].append(at)
    batch = entry[b"id"].decode() if entry else ""
    return [
        (uuid7(), UUID(hex=link_id), f"click:{batch}:{link_id}", len(several), max(several) / 1000)
        for link_id, several in times.items()
    ]
