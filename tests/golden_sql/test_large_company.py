"""One company has many more messages than any plan expects of a company.

Connections keep plans that fit any company, so they expect what the average one has.
"""

from collections.abc import Iterator
from datetime import UTC, timedelta
from typing import Any

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Company, Member
from billing.wallet import ledger
from config.storage import earlier_months
from otp import demo_history
from tests.api.clients import ClientOf
from tests.database_cleanup import empty_database
from tests.factories import CompanyFactory, MemberFactory
from tests.plans import Plan, Statement, explain, nodes, reads, rows_read

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
        demo_history.seed(company=company, mode="live", messages=MESSAGES, days=20)
        with connection.cursor() as cursor:
            cursor.execute(_OTHERS)
            cursor.execute("VACUUM ANALYZE channels_message")
        yield company
        empty_database()


@pytest.fixture
def member(client: Client, company: Company) -> Member:
    member: Member = MemberFactory.create(company=company, role=Member.Role.OWNER)
    client.force_login(member.user)
    return member


def plans(statements: list[Statement]) -> list[Plan]:
    found = [explain(each) for each in statements if '"channels_message"' in each.text]
    assert found
    return found


def heap_rows(plan: Plan) -> int:
    """What was read beside the entries of an index: each may be in a block of its own."""
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
        answer = api.get(f"/messages?status={state}")

    assert len(page.context["page"].rows) == len(answer.body["data"]) == 50
    assert max(map(heap_rows, plans(statements))) < 350


def test_phone_is_not_looked_for_where_phones_are_anonymised(
    client: Client, member: Member, client_of: ClientOf
) -> None:
    long_ago = timezone.now() - timedelta(days=settings.PHONE_RETENTION + 62)
    oldest = long_ago.astimezone(UTC).date().replace(day=1)
    api = client_of(member.company)
    earlier_months.create(oldest)

    with reads() as statements:
        client.get(f"{reverse('message-list')}?phone=%2B79991234567")
        api.get("/messages?phone=%2B79991234567")

    read = {node.get("Relation Name") for plan in plans(statements) for node in nodes(plan)}
    assert f"channels_message_{oldest:%Y_%m}" not in read
    assert f"channels_message_{timezone.now().astimezone(UTC):%Y_%m}" in read
