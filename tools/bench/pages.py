"""The cabinet's pages over a long history: `python -m tools.bench.pages --messages 1000000`.

Each page is asked for over HTTP as a signed-in member would, again and again; then its dearest
statement is explained, so that a slow page comes with its plan.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

import django
import requests

from config.channels import BY_NAME
from config.local.embedded import temporary
from tools.bench.stack.stack import SEEDED, Setup, Stack

BUDGET = 200  # ms, the median

Cookie = tuple[str, str]


def main() -> int:
    options = _options()
    with (
        tempfile.TemporaryDirectory() as place,
        temporary(durable=True, environ={}) as servers,
    ):
        (Path(place) / "log").mkdir()
        stack = Stack(servers, Path(place))
        try:
            return _measured(options, stack)
        finally:
            stack.close()


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - the table is what this command is for


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.bench.pages", description=__doc__)
    parser.add_argument("--messages", type=int, default=1_000_000)
    parser.add_argument("--days", type=int, default=90)
    parser.add_argument("--times", type=int, default=15, help="how often each page is asked for")
    return parser.parse_args()


def _measured(options: argparse.Namespace, stack: Stack) -> int:
    os.environ.update(stack.environ | {"DJANGO_SETTINGS_MODULE": "config.settings"})
    os.environ["DATABASE_URL"] = stack.url(SEEDED)
    django.setup()
    cookie = _history(options)
    stack.arrange(Setup(SEEDED))
    stack.tidy()
    base = f"http://127.0.0.1:{stack.web}"
    slow = 0
    for title, path in _pages():
        times = _times(base + path, cookie, options.times)
        middle = statistics.median(times)
        slow += middle >= BUDGET
        statement, plan = _dearest(path, cookie)
        _say(f"\n{title}: median {middle:.0f} ms, worst {max(times):.0f} ms   {path}")
        _say(f"  {statement}\n  " + "\n  ".join(plan))
    _say(f"\n{slow} over {BUDGET} ms")
    return 1 if slow else 0


def _history(options: argparse.Namespace) -> Cookie:
    """Seeds a company's past; returns the session cookie of its owner."""
    from django.conf import settings  # noqa: PLC0415 - needs Django set up
    from django.contrib.auth import login  # noqa: PLC0415
    from django.contrib.sessions.backends.db import SessionStore  # noqa: PLC0415
    from django.core.management import call_command  # noqa: PLC0415
    from django.http import HttpRequest  # noqa: PLC0415

    from accounts.models import User  # noqa: PLC0415
    from tools.bench.stack import seed  # noqa: PLC0415
    from tools.demo import history  # noqa: PLC0415

    call_command("migrate", verbosity=0)
    seed.companies(1)
    began = time.monotonic()
    history.of_company(messages=options.messages, days=options.days)
    _say(f"seeded in {time.monotonic() - began:.0f} s")
    request = HttpRequest()
    request.session = SessionStore()
    login(request, User.objects.get(), backend=settings.AUTHENTICATION_BACKENDS[0])
    request.session.save()
    return settings.SESSION_COOKIE_NAME, cast(str, request.session.session_key)


def _pages() -> Iterator[tuple[str, str]]:
    from channels.models import Message  # noqa: PLC0415

    history = "/cabinet/messages"
    some = Message.objects.order_by("created_at")[1000]
    phone = quote(some.phone)
    yield "overview", "/cabinet/"
    yield "history", history
    for name, values in (
        ("channel", list(BY_NAME)),
        ("state", Message.State.values),
        ("kind", Message.Kind.values),
    ):
        yield from ((f"{name}={value}", f"{history}?{name}={value}") for value in values)
    yield "key", f"{history}?api_key={some.api_key_id or 1}"
    yield "whole phone", f"{history}?phone={phone}"
    yield "beginning of a phone", f"{history}?phone={phone[:9]}"
    yield "a phone nobody has", f"{history}?phone=%2B7999999"
    day = f"{some.created_at:%Y-%m-%d}"
    yield "first day", f"{history}?date_from={day}&date_to={day}"
    yield "message id", f"{history}?id={some.public_id}"
    yield "request id", f"{history}?id={some.request_id or 'req_none'}"
    yield "failed codes by SMS", f"{history}?state=failed&channel=sms&kind=code"
    yield "one message", f"{history}/{some.public_id}"
    yield "statement", "/cabinet/balance"


def _times(url: str, cookie: Cookie, times: int) -> list[float]:
    found = []
    with requests.Session() as session:
        session.cookies.set(*cookie)
        for _ in range(times + 2):
            answer = session.get(url, allow_redirects=False, timeout=60)
            if answer.status_code != requests.codes.ok:
                raise SystemExit(f"{url} answered {answer.status_code}")
            found.append(answer.elapsed.total_seconds() * 1000)
    return found[2:]  # the first ones warm up a connection, templates and caches


def _dearest(path: str, cookie: Cookie) -> tuple[str, list[str]]:
    """The page's slowest statement, shortened, and its plan with the times of each step."""
    from django.db import connection  # noqa: PLC0415
    from django.test import Client  # noqa: PLC0415

    seen: list[tuple[float, str, Any]] = []

    def watch(execute: Any, sql: str, params: Any, many: Any, context: Any) -> Any:
        began = time.monotonic()
        answer = execute(sql, params, many, context)
        seen.append((time.monotonic() - began, sql, params))
        return answer

    client = Client(headers={"host": "127.0.0.1"})
    client.cookies[cookie[0]] = cookie[1]
    with connection.execute_wrapper(watch):
        client.get(path)
    _, sql, params = max((one for one in seen if "SELECT" in one[1]), key=lambda one: one[0])
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, COSTS OFF, BUFFERS OFF) {sql}", params)
        return " ".join(sql.split())[:160], [row[0] for row in cursor.fetchall()]


if __name__ == "__main__":
    sys.exit(main())
