"""Tells Redis of new links, so that their first visitors need no SQL; off the request thread.

A hint and no more: what is lost is read from the database. Nobody can have asked for a generated
slug before it was made; an alias, which somebody can, is remembered at once (`resolution`).
"""

from collections import deque

from config.errand import Errand
from links import resolution
from links.models import Link

CAPACITY = 10_000  # links kept for the next run
BATCH = 500

_new: deque[Link] = deque(maxlen=CAPACITY)


def _remember() -> bool:
    is_told = True
    while _new and is_told:
        is_told = resolution.remember(*(_new.popleft() for _ in range(min(BATCH, len(_new)))))
    return is_told


_errand = Errand("new-links", _remember)


def remember_soon(link: Link) -> None:
    _new.append(link)
    _errand.ask()
