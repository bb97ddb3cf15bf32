"""No page or batch of a list reads all of a long history, at its beginning or at its end.

Connections keep plans that fit any parameters, so those are the ones explained here.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from accounts.models import AuditEvent, Company, Member
from accounts.tasks import make_files
from api import pagination
from api.pagination import encode
from billing.models import Transfer
from billing.wallet import ledger
from channels.models import Message
from links.models import Link
from tests.api.clients import ClientOf
from tests.database_cleanup import empty_database
from tests.factories import CompanyFactory, MemberFactory
from tests.plans import Plan, Statement, explain, nodes, reads, rows_read
from tools.demo import history

pytestmark = pytest.mark.django_db
MESSAGES = 12_000
SCANS = (200, 800)  # rows for one page of a filter without an index; a batch has more
BATCH_SIZE = 400
# The rows and blocks that one statement may read.
MAX_ROWS = 4_000
MAX_BLOCKS = 2_500
HISTORY = ("channels_message", "billing_transfer", "links_link", "accounts_auditevent")

_FURTHER_ROWS = """
INSERT INTO links_link (id, company_id, mode, slug, key, is_alias, url, created_at)
SELECT gen_random_uuid(), %(company)s, 'live', 's' || n, 's' || n, false, 'https://example.com/',
  now() - n * interval '1 minute' FROM generate_series(1, %(count)s) AS n;
INSERT INTO accounts_auditevent (company_id, action, subject, created_at)
SELECT %(company)s, 'settings.changed', '', now() - n * interval '1 minute'
FROM generate_series(1, %(count)s) AS n;
"""


@pytest.fixture(scope="module")
def company(django_db_setup: None, django_db_blocker: Any) -> Iterator[Company]:
    """A company with a long history, in a database whose statistics include it."""
    with django_db_blocker.unblock():
        company = CompanyFactory.create(name="Long history")
        ledger.grant(company=company, amount=1, reason="gift")
        history.fill_company(company, messages=MESSAGES, days=30)
        with connection.cursor() as cursor:
            for statement in _FURTHER_ROWS.strip().split(";\n"):
                cursor.execute(statement, {"company": company.pk, "count": MESSAGES})
        with connection.cursor() as cursor:
            for table in HISTORY:  # other tests leave indexes with more empty pages than entries
                cursor.execute(f"REINDEX TABLE {table}")
            cursor.execute("VACUUM ANALYZE")
        yield company
        empty_database()


@pytest.fixture(autouse=True)
def _short_scans(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pagination, "SCANS", SCANS, raising=False)
    monkeypatch.setattr("billing.wallet.statement.BATCH_SIZE", BATCH_SIZE)
    monkeypatch.setattr("cabinet.csv_exports.PART_SIZE", BATCH_SIZE)


@pytest.fixture
def member(client: Client, company: Company) -> Member:
    member: Member = MemberFactory.create(company=company, role=Member.Role.OWNER)
    client.force_login(member.user)
    return member


MESSAGE_FILTERS = [
    *("", "channel=sms", "kind=link", "phone=%2B79990001234", "phone=%2B7999", "phone=%2B7888"),
    *(f"state={state}" for state in Message.State.values),
    "state=failed&channel=sms&kind=code",
]
TRANSFER_FILTERS = ["", "kind=all", *(f"kind={kind}" for kind in Transfer.Kind.values)]
LINK_FILTERS = ["", "state=active", "state=expired", "state=disabled", "search=s77", "search=none"]
LISTS = [
    *(("message-list", Message, query) for query in MESSAGE_FILTERS),
    *(("balance-statement", Transfer, query) for query in TRANSFER_FILTERS),
    *(("link-list", Link, query) for query in LINK_FILTERS),
    ("audit-list", AuditEvent, ""),
    ("balance", Transfer, ""),
]
API_LISTS = [
    *(("/messages", Message, f"status={state}") for state in Message.State.values),
    *(("/messages", Message, query) for query in ("", "channel=sms", "kind=link", "reference=r")),
    *(("/otp", Message, query) for query in ("", "state=pending", "purpose=none", "reference=r")),
    *(("/links", Link, query) for query in ("", "state=active", "state=expired", "slug=s77")),
]
EXPORTS = [
    *(("message-export", query) for query in ("", "state=failed", "kind=link", "channel=sms")),
    *(("balance-csv", f"{query}") for query in TRANSFER_FILTERS),
    *(("link-export", query) for query in ("", "state=active", "state=expired")),
]


def last_page(company: Company, model: Any) -> str:
    """The cursor of a page near the end."""
    row = model.objects.filter(company=company).order_by("created_at", "id")[60]
    return encode(row.created_at, row.pk)


def check(statements: list[Statement]) -> None:
    history = [each for each in statements if any(table in each.text for table in HISTORY)]
    assert history
    for statement in history:
        check_plan(explain(statement), statement)


def check_plan(plan: Plan, statement: Statement) -> None:
    blocks = plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]
    sorts = [node for node in nodes(plan) if node["Node Type"] == "Sort"]

    assert rows_read(plan) < MAX_ROWS, statement.text
    assert blocks < MAX_BLOCKS, statement.text
    assert all(rows_read(node) < MAX_ROWS for node in sorts), statement.text


@pytest.mark.parametrize(("route", "model", "query"), LISTS)
def test_page_reads_a_bounded_part(
    client: Client, member: Member, route: str, model: Any, query: str
) -> None:
    for cursor in ("", last_page(member.company, model)):
        with reads() as statements:
            response = client.get(f"{reverse(route)}?{query}&cursor={cursor}")

        assert response.status_code == 200
        check(statements)


@pytest.mark.parametrize(("path", "model", "query"), API_LISTS)
def test_page_of_the_api_reads_a_bounded_part(
    company: Company, client_of: ClientOf, path: str, model: Any, query: str
) -> None:
    api = client_of(company)
    for cursor in ("", last_page(company, model)):
        with reads() as statements:
            response = api.get(f"{path}?{query}&cursor={cursor}")

        assert response.status == 200
        check(statements)


@pytest.mark.parametrize(("route", "query"), EXPORTS)
def test_every_batch_of_an_export_reads_a_bounded_part(
    client: Client, member: Member, route: str, query: str
) -> None:
    with reads() as statements:
        response: Any = client.get(f"{reverse(route)}?{query}")
        if response.status_code == 302:  # a long file, which is made in the background
            client.post(response["Location"])
            make_files()
        else:
            for _line in response.streaming_content:
                pass

    check([*statements[:12], *statements[-4:]])
