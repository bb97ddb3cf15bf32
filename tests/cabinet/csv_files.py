"""Every kind of list that is downloaded as CSV: rows for it, its address, and its file."""

from collections.abc import Callable, Mapping
from typing import Any

from django.test import Client
from django.urls import resolve, reverse
from django.utils import timezone

from accounts.audit import record
from accounts.models import Company, CsvExport, Member
from accounts.tasks import make_files
from billing.wallet import ledger
from cabinet import csv_exports
from cabinet.csv_exports import KINDS, Download
from cabinet.spreadsheets import Row
from tests.cabinet.routes import CABINET
from tests.factories import LinkFactory, MessageFactory


def _messages(company: Company, count: int) -> None:
    MessageFactory.create_batch(count, company=company)


def _links(company: Company, count: int) -> None:
    LinkFactory.create_batch(count, company=company)


def _transfers(company: Company, count: int) -> None:
    for amount in range(1, count + 1):
        ledger.grant(company=company, amount=amount, reason="")


def _events(company: Company, count: int) -> None:
    for number in range(count):
        record("settings.changed", number, company=company, user=None)


FILL: dict[str, Callable[[Company, int], None]] = {
    "messages": _messages,
    "links": _links,
    "statement": _transfers,
    "audit": _events,
}


# Kind → the route of its download, as the URLconf has them.
ROUTES = {
    match.kwargs["kind"]: name
    for name, match in ((name, resolve(reverse(name))) for name, of in CABINET.items() if not of.of)
    if "kind" in match.kwargs
}
# The audit log has each download of it; this leaves those out.
QUERY = {"audit": "kind=settings"}


def request_file(client: Client, kind: str, query: str = "") -> CsvExport:
    response = client.post(f"{reverse('csv-file-request', args=[kind])}?{query}")
    assert response.status_code == 302
    row: CsvExport = CsvExport.objects.latest("created_at")
    return row


def file_of(client: Client, export: CsvExport) -> bytes:
    response: Any = client.get(reverse("csv-file", args=[export.pk]))
    assert response.status_code == 200
    return b"".join(response.streaming_content)


def download(client: Client, route: str, query: str = "") -> bytes:
    """The list as a member gets it: at once, or as a file made in the background."""
    response: Any = client.get(f"{reverse(route)}?{query}")
    if response.status_code == 200:
        return b"".join(response)
    client.post(response["Location"])
    while CsvExport.objects.unfinished().exists():  # a run is bounded in time
        make_files()
    return file_of(client, CsvExport.objects.latest("created_at"))


def csv_rows(company: Company, kind: str, filters: Mapping[str, Any]) -> list[Row]:
    """The rows as an owner gets them, with the headings."""
    member = Member(company=company, role=Member.Role.OWNER)
    return list(csv_exports.rows_of(KINDS[kind], Download(member, filters, timezone.now())))
