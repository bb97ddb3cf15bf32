"""One company has many more messages than any plan expects of a company.

Connections keep plans that fit any company, so they expect what the average one has.
"""

from collections.abc import Callable, Iterator
from datetime import UTC, timedelta
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Company, Member
from billing.seals import hashes, sealing
from billing.wallet import ledger
from tests.api.clients import ClientOf
from tests.cabinet.csv_files import csv_rows
from tests.database_cleanup import empty_database
from tests.factories import CompanyFactory, MemberFactory
from tests.plans import Plan, Statement, explain, nodes, reads, rows_read
from tests.sql import execute
from tools.demo import history, months

pytestmark = pytest.mark.django_db
MESSAGES = 8_000  # of which 560 were not delivered
_OTHERS = """
INSERT INTO channels_message (id, company_id, mode, kind, content, channel, chain, phone,
  subject_id, params, locale, request_id, state, is_undelivered, error, price, priority,
  created_at, useful_until, deadline)
SELECT (left(id::text, 24) || left(md5(id::text), 12))::uuid, 1000000 + row_number() OVER (), mode,
  kind, content, channel, chain, phone, subject_id, params, locale, request_id, state,
  is_undelivered, error, price, priority, created_at, useful_until, deadline
FROM (SELECT * FROM channels_message ORDER BY id LIMIT 400) AS m"""


@pytest.fixture(scope="module")
def company(django_db_setup: None, django_db_blocker: Any) -> Iterator[Company]:
    with django_db_blocker.unblock():
        company = CompanyFactory.create(name="Large")
        ledger.grant(company=company, amount=1, reason="gift")
        history.fill_company(company, messages=MESSAGES, days=20)
        execute(_OTHERS)
        execute("VACUUM ANALYZE channels_message")
        yield company
        empty_database()


@pytest.fixture
def member(client: Client, company: Company) -> Member:
    member: Member = MemberFactory.create(company=company, role=Member.Role.OWNER)
    client.force_login(member.user)
    return member


def plans(statements: list[Statement]) -> list[Plan]:
    result = [explain(each) for each in statements if '"channels_message"' in each.text]
    assert result
    return result


def heap_rows(plan: Plan) -> int:
    """The rows read besides the entries of an index: each may be in its own block."""
    scans = [node for node in nodes(plan) if "Relation Name" in node]
    of_indexes = [node for node in scans if node["Node Type"] == "Index Only Scan"]
    return rows_read(plan) - sum(map(rows_read, of_indexes))


@pytest.mark.parametrize("state", ["failed", "expired"])
def test_page_of_undelivered_messages_reads_few_of_them(
    client: Client, member: Member, client_of: ClientOf, state: str
) -> None:
    api = client_of(member.company)
    with reads() as statements:
        page = client.get(f"{reverse('message-list')}?state={state}")
        response = api.get(f"/messages?status={state}")

    assert len(page.context["page"].rows) == len(response.body["data"]) == 50
    assert max(map(heap_rows, plans(statements))) < 350


def test_phone_is_not_looked_for_where_phones_are_anonymised(
    client: Client, member: Member, client_of: ClientOf
) -> None:
    long_ago = timezone.now() - timedelta(days=settings.PHONE_RETENTION + 62)
    oldest = long_ago.astimezone(UTC).date().replace(day=1)
    api = client_of(member.company)
    months.create_earlier(oldest)

    with reads() as statements:
        client.get(f"{reverse('message-list')}?phone=%2B79991234567")
        api.get("/messages?phone=%2B79991234567")

    read = {node.get("Relation Name") for plan in plans(statements) for node in nodes(plan)}
    assert f"channels_message_{oldest:%Y_%m}" not in read
    assert f"channels_message_{timezone.now().astimezone(UTC):%Y_%m}" in read


_TRANSFERS = """
INSERT INTO billing_transfer
  (company_id, kind, amount, key, proof, reason, balance_after, created_at)
SELECT CASE WHEN n <= 400 THEN 2000000 + n ELSE 2000000 END, 'grant', 1, 'large:' || n, '', '', n,
  now() - (1 + random() * 20) * interval '1 day' FROM generate_series(1, 30000) AS n;
ANALYZE billing_transfer"""


@pytest.fixture
def large(db: None) -> Company:
    """With transfers in no order, as among those of others, and by far the most of them."""
    company: Company = CompanyFactory.create(pk=2_000_000)
    ledger.grant(company=company, amount=1, reason="gift")
    execute(_TRANSFERS)
    return company


def read_lines(company: Company) -> None:
    for _ in hashes.days_of(company.pk, sealing.BEGINNING, timezone.now().date()):
        pass


def export(company: Company) -> None:
    for _ in csv_rows(company, "statement", {"kind": "all"}):
        pass


@pytest.mark.parametrize("read", [read_lines, export])
def test_lines_are_read_in_the_order_of_their_index(
    large: Company, read: Callable[[Company], None]
) -> None:
    """Else each chunk of them would read and sort all that the company has."""
    result: list[Plan] = []

    def note_plan(execute: Any, text: str, params: Any, count: bool, context: Any) -> Any:
        if "ORDER BY created_at, id LIMIT" in " ".join(text.split()) and "EXPLAIN" not in text:
            with connection.cursor() as cursor:
                cursor.execute(f"EXPLAIN (FORMAT JSON) {text}", params)
                result.append(cursor.fetchone()[0][0]["Plan"])
        return execute(text, params, count, context)

    with connection.execute_wrapper(note_plan):
        read(large)

    assert len(result) > 1
    for plan in result:
        chunk = next(node for node in nodes(plan) if node["Node Type"] == "Limit")
        assert not {node["Node Type"] for node in nodes(chunk)} & {"Sort", "Bitmap Heap Scan"}
