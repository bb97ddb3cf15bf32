"""Measures every list of the API, the cabinet and the admin with each filter, jobs, and exports."""

import re
import time
from collections.abc import Callable, Iterator
from functools import partial
from html import unescape
from itertools import islice
from operator import attrgetter
from typing import Any
from urllib.parse import quote

import psycopg
from django.contrib.admin import site
from django.db.models import Model
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import AuditEvent, Member, Mode
from api.pagination import encode
from billing.models import Transfer
from cabinet import csv_exports
from cabinet.spreadsheets import csv_lines
from catalogue.channels import BY_NAME
from channels.models import Message
from config.celery import app
from config.schedule import SCHEDULE
from links.models import Link
from tools.growth.figures import PAGE_MS, Figure, Group
from tools.growth.recording import Probe, blocks_of_database, recorded

SEARCHES = ("Demo 00010", "+70000000123")
_CHOICE = re.compile(r'href="(\?[a-z_]+=[^"]*)"')
FURTHER = 4  # measurements
NEAR_THE_END = 60  # rows from the oldest one
Page = tuple[str, Client, str]  # name, client, path


def measure(probe: Probe) -> Iterator[Figure]:
    """Milliseconds are the request's CPU and the time of its statements; the minimum of a few
    measurements if the first one is beyond the bound.
    """
    for name, client, path in _pages(probe):
        figure = _measured(name, client, path)  # warms up templates and caches as well
        for _ in range(FURTHER):
            if figure.ms > PAGE_MS:  # another program may have slowed it down
                figure = min(figure, _measured(name, client, path), key=attrgetter("ms"))
        yield figure


def _measured(name: str, client: Client, path: str) -> Figure:
    with recorded() as readings:
        client.get(path)
    ms = _cpu(client, path) + sum(reading.ms for reading in readings)
    dearest = max(readings, key=lambda reading: reading.blocks, default=None)
    blocks, text = sum(reading.blocks for reading in readings), dearest.text if dearest else ""
    return Figure(Group.PAGE, name, blocks, round(ms, 1), text[:2000])


def _cpu(client: Client, path: str) -> float:
    """CPU milliseconds of this thread, without waits, in which other programs would count."""
    began = time.thread_time()
    status = client.get(path).status_code
    if status == 500:  # cut off by the statement timeout
        return 10 * PAGE_MS
    if status != 200:
        raise RuntimeError(f"{path} answered {status}")
    return (time.thread_time() - began) * 1000


def _pages(probe: Probe) -> Iterator[Page]:
    api = Client(headers={"Authorization": f"Bearer {probe.key}"}, raise_request_exception=False)
    yield from ((f"API {name}", api, path) for name, path in _api_lists(probe))
    yield from ((f"cabinet {name}", probe.browser, path) for name, path in _cabinet(probe))
    yield from ((f"admin {name}", probe.browser, path) for name, path in _admin(probe))


def _api_lists(probe: Probe) -> Iterator[tuple[str, str]]:
    messages, links = "/api/v1/messages", "/api/v1/links"
    yield from _first_and_last("messages", messages, Message, probe)
    yield from _first_and_last("links", links, Link, probe)
    for state in Message.State.values:
        yield f"messages {state}", f"{messages}?status={state}"
    for query in ("channel=sms", "kind=link", f"phone={quote('+70001234567')}"):
        yield f"messages {query}", f"{messages}?{query}"
    for query in ("state=active", "state=expired", "state=disabled", "slug=none"):
        yield f"links {query}", f"{links}?{query}"


def _cabinet(probe: Probe) -> Iterator[tuple[str, str]]:
    messages, statement = reverse("message-list"), reverse("balance-statement")
    yield "overview", reverse("overview")
    yield "balance", reverse("balance")
    yield from _first_and_last("messages", messages, Message, probe)
    yield from _first_and_last("statement", statement, Transfer, probe)
    yield from _first_and_last("links", reverse("link-list"), Link, probe)
    yield from _first_and_last("audit events", reverse("audit-list"), AuditEvent, probe)
    live = Message.objects.filter(company=probe.company, mode=Mode.LIVE)
    newest = live.order_by("-created_at", "-id")[100]
    yield "one message", reverse("message-detail", args=[newest.public_id])
    day = f"{newest.created_at:%Y-%m-%d}"
    for query in (
        *(f"state={state}" for state in Message.State.values),
        *(f"channel={channel}" for channel in BY_NAME),
        *("kind=link", "state=failed&channel=sms&kind=code", "phone=%2B70001"),
    ):
        yield f"messages {query}", f"{messages}?{query}"
    for name, query in (  # queries that depend on the history
        ("of a day", f"date_from={day}&date_to={day}"),
        ("of a phone", f"phone={quote(newest.phone)}"),
        ("by its id", f"id={newest.public_id}"),
        ("by its request", f"id={newest.request_id}"),
    ):
        yield f"messages {name}", f"{messages}?{query}"
    for kind in Transfer.Kind.values:
        yield f"statement {kind}", f"{statement}?kind={kind}"
    for query in ("state=active", "state=disabled", "search=none"):
        yield f"links {query}", f"{reverse('link-list')}?{query}"


def _first_and_last(
    name: str, path: str, model: type[Model], probe: Probe
) -> Iterator[tuple[str, str]]:
    yield name, path
    rows: Any = model._default_manager.filter(company=probe.company)  # noqa: SLF001
    if hasattr(model, "mode"):
        rows = rows.filter(mode=Mode.LIVE)  # like the index
    oldest = rows.order_by("created_at", "id")[:NEAR_THE_END]
    last = list(oldest)[-1]
    yield f"{name}, last page", f"{path}?cursor={encode(last.created_at, last.pk)}"


def _admin(probe: Probe) -> Iterator[tuple[str, str]]:
    yield "index", reverse("admin:index")
    for model in site._registry:  # noqa: SLF001
        label, name = model._meta.app_label, str(model._meta.model_name)  # noqa: SLF001
        path = reverse(f"admin:{label}_{name}_changelist")
        yield name, path
        for query in _filters(probe.browser, path):
            yield f"{name} {query}", f"{path}{query}"
        oldest = list(model._default_manager.order_by("pk")[:NEAR_THE_END])  # noqa: SLF001
        if len(oldest) == NEAR_THE_END:
            yield f"{name}, last page", f"{path}?after={oldest[-1].pk}"


def _filters(browser: Client, path: str) -> Iterator[str]:
    """Each choice of each filter of the list, and searches if it has a search box."""
    html = browser.get(path).content.decode()
    choices = dict.fromkeys(unescape(query) for query in _CHOICE.findall(html))
    yield from (query for query in choices if "after=" not in query)
    if 'id="searchbar"' in html:
        yield from (f"?q={quote(text)}" for text in SEARCHES)


# Jobs that do not depend on the history.
LEFT_OUT = {
    "operator_admin.evaluate_outside_alerts",
    "channels.write_heartbeat",
    "accounts.deliver_mail",
}
EXPORT_ROWS = 500_000
FEWEST = 5_000
PER = 1_000  # rows


def measure_jobs(store: psycopg.Connection) -> Iterator[Figure]:
    app.loader.import_default_modules()
    for name, entry in SCHEDULE.items():
        if entry["task"] not in LEFT_OUT:
            yield _job(name, partial(app.tasks[entry["task"]], **entry.get("kwargs", {})), store)


def _job(name: str, work: Callable[[], object], store: psycopg.Connection) -> Figure:
    before, began = blocks_of_database(store), time.monotonic()
    work()
    ms = round((time.monotonic() - began) * 1000, 1)
    return Figure(Group.JOB, name, blocks_of_database(store) - before, ms)


def measure_exports(probe: Probe) -> Iterator[Figure]:
    """The time of 1,000 rows, in the first and the last tenth of each file."""
    for kind in csv_exports.KINDS.values():
        times = _times_of_rows(probe, kind)
        if len(times) * PER >= FEWEST:
            tenth = max(1, len(times) // 10)
            for age, part in (("first", times[:tenth]), ("last", times[-tenth:])):
                ms = round(sum(part) / len(part) * 1000, 2)
                yield Figure(Group.EXPORT, f"{kind.name}, {age} rows", 0, ms)


def _times_of_rows(probe: Probe, kind: csv_exports.CsvKind) -> list[float]:
    """The seconds for each 1,000 rows of a company's file."""
    member = Member(company=probe.company, role=Member.Role.OWNER)
    rows = csv_exports.rows_of(kind, csv_exports.Download(member, {}, timezone.now()))
    lines, times, began = csv_lines(islice(rows, EXPORT_ROWS), "en"), [], time.monotonic()
    for number, _line in enumerate(lines, 1):
        if number % PER == 0:
            times.append(time.monotonic() - began)
            began = time.monotonic()
    return times
