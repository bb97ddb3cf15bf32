"""Fills one database and measures it, in a process per size so that no cache is shared."""

import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import django
import psycopg
from django.core.management import call_command

from tools.command_line import say, write_json
from tools.growth.figures import Figure, Group
from tools.queries import queries

_WEIGHTS = queries(__file__)["weights"].text


def main(messages: int, companies: int, months: int, only: list[str], into: str) -> None:
    django.setup()
    call_command("migrate", verbosity=0)
    filling = _fill(messages, companies=companies, months=months)
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as store:
        figures = [asdict(figure) for figure in _figures(list(map(Group, only)), store)]
    write_json(Path(into), {"filling": filling, "figures": figures})


def _fill(messages: int, *, companies: int, months: int) -> dict[str, Any]:
    """Fills the database; returns the seconds, and the bytes of database and largest tables.

    Runs before any other connection, since filling a database in use is slower.
    """
    from tools.demo import history  # noqa: PLC0415 - needs Django set up

    began = time.monotonic()
    history.of_companies(companies, messages=messages, months=months)
    with psycopg.connect(os.environ["DATABASE_URL"], autocommit=True) as store:
        store.execute("VACUUM (ANALYZE)")
        store.execute("CHECKPOINT")
        seconds = round(time.monotonic() - began, 1)
        tables = {str(name): int(size) for name, size in store.execute(_WEIGHTS).fetchall()}
        size = store.execute("SELECT pg_database_size(current_database())").fetchone()
    result = {"messages": messages, "seconds": seconds, "tables": tables}
    return result | {"bytes": int(size[0]) if size else 0}


def _figures(groups: Sequence[Group], store: psycopg.Connection) -> Iterator[Figure]:
    from tools.growth import (  # noqa: PLC0415
        hot_statements,
        pages,
        recording,
    )

    probe = recording.make()
    work: dict[Group, Callable[[], Iterable[Figure]]] = {
        Group.HOT: lambda: hot_statements.measure(probe),
        Group.PAGE: lambda: pages.measure(probe),
        Group.JOB: lambda: pages.measure_jobs(store),
        Group.EXPORT: lambda: pages.measure_exports(probe),
    }
    for group in groups:
        began = time.monotonic()
        figures = list(work[group]())
        say(f"{group}: {len(figures)} figures in {time.monotonic() - began:.0f} s")
        yield from figures


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
