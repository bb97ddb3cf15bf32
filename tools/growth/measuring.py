"""Fills one database and measures on it: a process for each size, so that no cache is shared."""

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import django
import psycopg
from django.core.management import call_command

from tools.growth.figures import Figure, Group


def main(arguments: Sequence[str]) -> int:
    options = _options(arguments)
    django.setup()
    from tools.growth import database  # noqa: PLC0415 - needs Django set up

    call_command("migrate", verbosity=0)
    url = os.environ["DATABASE_URL"]
    filling = database.fill(
        url, options.messages, companies=options.companies, months=options.months
    )
    with psycopg.connect(url, autocommit=True) as store:
        figures = [asdict(figure) for figure in _figures(options.only, store)]
    found = {"filling": asdict(filling), "figures": figures}
    options.into.write_text(json.dumps(found, ensure_ascii=False), encoding="utf-8")
    return 0


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.growth.measuring", description=__doc__)
    for name in ("messages", "companies", "months"):
        parser.add_argument(f"--{name}", type=int, required=True)
    parser.add_argument("--only", type=lambda text: list(map(Group, text.split(","))))
    parser.add_argument("--into", type=Path, required=True)
    return parser.parse_args(arguments)


def _figures(groups: Sequence[Group], store: psycopg.Connection) -> Iterator[Figure]:
    from tools.growth import hot_statements, jobs, pages, probe  # noqa: PLC0415

    who = probe.make()
    work: dict[Group, Callable[[], Iterable[Figure]]] = {
        Group.HOT: lambda: hot_statements.measure(who),
        Group.PAGE: lambda: pages.measure(who),
        Group.JOB: lambda: jobs.measure(store),
        Group.EXPORT: lambda: jobs.measure_exports(who),
    }
    for group in groups:
        began = time.monotonic()
        figures = list(work[group]())
        took = time.monotonic() - began
        sys.stdout.write(f"{group}: {len(figures)} figures in {took:.0f} s\n")
        sys.stdout.flush()
        yield from figures


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
