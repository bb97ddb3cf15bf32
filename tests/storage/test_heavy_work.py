"""A flood of CPU-heavy work leaves threads and connections to codes and links."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest
import structlog
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import OperationalError
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from structlog.testing import capture_logs

from accounts.models import Company, Member
from api import base_view
from api.pagination import LONG_PAGES, PAGE_SIZE
from billing.orders.pdf import DRAWING
from billing.signed_links import DOCUMENTS, INVOICES
from links.api.views import MAKING, SMALL_BULK
from links.clicks.statistics import COUNTING, MAX_CLICKS_AT_ONCE
from links.link_imports import READING
from persons.export import PERSON_SEARCHES
from storage.heavy_work import HeavyWork
from tests.api.clients import Api
from tests.document_factories import DocumentFactory
from tests.factories import LinkFactory, MessageFactory, OrderFactory

pytestmark = pytest.mark.django_db
Call = Callable[[Client, Company], Any]


def _invoice(client: Client, company: Company) -> Any:
    order = company.orders.first() or OrderFactory.create(
        company=company, invoice_year=2026, invoice_number=1
    )
    return client.get(reverse("invoice-file", args=[INVOICES.token(order.pk)]))


def _document(client: Client, company: Company) -> Any:
    document = company.documents.first() or DocumentFactory.create(company=company)
    return client.get(reverse("document-file", args=[DOCUMENTS.token(document.pk), "pdf"]))


def _today() -> dict[str, str]:
    return dict.fromkeys(("date_from", "date_to"), f"{timezone.localdate():%Y-%m-%d}")


def _statement(client: Client, company: Company) -> Any:
    return client.get(reverse("period-pdf"), _today())


def _act(client: Client, company: Company) -> Any:
    return client.get(reverse("reconciliation-pdf"), _today())


def _import(client: Client, company: Company) -> Any:
    file = SimpleUploadedFile("links.csv", b"url\nhttps://example.com/1\n")
    return client.post(reverse("link-import"), {"file": file, "mode": "test"})


CALLS = pytest.mark.parametrize(
    ("work", "call"),
    [
        (DRAWING, _invoice),
        (DRAWING, _document),
        (DRAWING, _statement),
        (DRAWING, _act),
        (READING, _import),
    ],
)


@CALLS
def test_heavy_work_beyond_turns_is_refused_as_busy(
    client: Client, owner: Member, work: HeavyWork, call: Call
) -> None:
    with ExitStack() as turns:
        for _ in range(work.turns._value):
            turns.enter_context(work.turn(None))
        busy = call(client, owner.company)

    assert busy.status_code == 503
    assert busy["Retry-After"] == "5"


@CALLS
def test_only_company_at_its_share_is_refused(
    client: Client, owner: Member, work: HeavyWork, call: Call
) -> None:
    with _share_taken(work, owner.company.pk):
        refused = call(client, owner.company)
    with _share_taken(work, owner.company.pk + 1):
        others = call(client, owner.company)

    assert (refused.status_code, others.status_code) in {(503, 200), (503, 302)}


@contextmanager
def _share_taken(work: HeavyWork, company_id: int) -> Iterator[None]:
    work._of_company[company_id] = work._company_limit
    yield
    del work._of_company[company_id]


def test_queue_of_one_company_does_not_hold_up_another() -> None:
    """Ten waiting calls of one company used to come first: the other's ended in a 503."""
    work = HeavyWork("tried", limit=1, max_waiting=24, timeout=60)
    order: list[int] = []

    def call(company_id: int) -> None:
        with work.turn(company_id):
            order.append(company_id)
            time.sleep(0.1)

    callers = [1] * 10 + [2]
    with ThreadPoolExecutor(len(callers)) as pool, work.turn(None):
        for started, company_id in enumerate(callers, start=1):
            pool.submit(call, company_id)
            while work._of_company.total() < started:
                time.sleep(0.01)
        time.sleep(0.1)  # all wait for their turn

    assert order.count(1) == 10
    assert order.index(2) <= 2
    assert not work._next_of_company


def test_long_bulk_call_waits_for_its_turn_and_a_short_one_does_not(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    links = [{"url": f"https://example.com/{n}"} for n in range(SMALL_BULK + 1)]
    with MAKING.turn(None), capture_logs() as logs:
        monkeypatch.setattr(base_view, "log", structlog.get_logger())  # one that is not cached
        busy = api.post("/links/bulk", {"links": links})
        short = api.post("/links/bulk", {"links": links[1:]})

    assert (busy.status, busy.body["code"], short.status) == (503, "unavailable", 200)
    assert logs == []  # no error: the database is there
    assert api.post("/links/bulk", {"links": links}).status == 200


@pytest.mark.parametrize("path", ["/messages", "/links", "/documents", "/top-up", "/seals"])
def test_long_page_waits_for_its_turn_and_a_short_one_does_not(api: Api, path: str) -> None:
    with LONG_PAGES.turn(None):
        busy = api.get(f"{path}?limit={PAGE_SIZE + 1}")
        short = api.get(f"{path}?limit={PAGE_SIZE}")

    assert (busy.status, busy.body["code"], short.status) == (503, "unavailable", 200)
    assert api.get(f"{path}?limit={PAGE_SIZE + 1}").status == 200


@pytest.mark.parametrize("path", ["/messages", "/links", "/documents", "/top-up", "/seals"])
def test_long_pages_of_one_company_leave_places_to_others(api: Api, path: str) -> None:
    with _share_taken(LONG_PAGES, api.company.pk):
        refused = api.get(f"{path}?limit={PAGE_SIZE + 1}")
    with _share_taken(LONG_PAGES, api.company.pk + 1):
        others = api.get(f"{path}?limit={PAGE_SIZE + 1}")

    assert (refused.status, others.status) == (503, 200)


@pytest.mark.parametrize("query", ["", "?interval=hour"])
def test_only_counts_of_many_clicks_wait_for_a_turn(api: Api, query: str) -> None:
    """Anybody can open a link a million times; twenty calls then took every connection."""
    few = LinkFactory.create(company=api.company, clicks=MAX_CLICKS_AT_ONCE)
    count = LinkFactory.create(company=api.company, clicks=MAX_CLICKS_AT_ONCE, previews=1)
    with COUNTING.turn(None):
        responses = [api.get(f"/links/{link.public_id}/stats{query}") for link in (few, count)]

    assert [response.status for response in responses] == [200, 503]
    assert api.get(f"/links/{count.public_id}/stats{query}").status == 200


def test_pages_with_many_clicks_wait_for_their_turn(client: Client, owner: Member) -> None:
    message = MessageFactory.create(company=owner.company, kind="link")
    link = LinkFactory.create(
        company=owner.company,
        pk=message.subject_id,
        message_id=message.pk,
        clicks=MAX_CLICKS_AT_ONCE + 1,
    )
    pages = [
        reverse("link-detail", args=[link.public_id]),
        reverse("message-detail", args=[message.public_id]),
    ]
    with COUNTING.turn(None):
        busy = [client.get(page).status_code for page in pages]

    assert busy == [503, 503]
    assert [client.get(page).status_code for page in pages] == [200, 200]


def test_exports_and_erasures_of_persons_wait_for_their_turn(api: Api) -> None:
    person = {"phone": "+79161234567"}
    with PERSON_SEARCHES.turn(None):
        busy = api.get("/persons/export", person), api.post("/persons/erase", person)

    assert [(response.status, response.body["code"]) for response in busy] == [
        (503, "unavailable")
    ] * 2
    free = api.get("/persons/export", person), api.post("/persons/erase", person)
    assert [response.status for response in free] == [200, 200]


def test_one_company_has_half_of_the_places() -> None:
    work = HeavyWork("test", limit=4, max_waiting=4)

    with work.turn(1), work.turn(1):
        with pytest.raises(OperationalError, match="of one company"), work.turn(1):
            pass
        with work.turn(2):
            pass

    with work.turn(1):  # the places are free again
        pass
