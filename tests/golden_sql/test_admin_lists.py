"""The rows that lists of the admin read, by a plan for any parameters."""

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from accounts.models import Company
from tests.factories import CompanyFactory
from tests.operator_admin.operators import make_operator, sign_in
from tests.plans import explain, reads, rows_read
from tests.sql import execute

pytestmark = pytest.mark.django_db
_HISTORY = """
INSERT INTO channels_receipt (provider, digest, provider_id, state, vendor_status, error_code,
  error_detail, received_at, due_at, raw)
SELECT 'demo', sha256(n::text::bytea), n::text, 'delivered', 'ok', '', '',
  now() - n * interval '1 second', NULL, '' FROM generate_series(1, 3000) AS n;
ANALYZE channels_receipt"""


def test_page_of_receipts_reads_no_others(client: Client) -> None:
    sign_in(client, make_operator(), "password", "mfa")
    with connection.cursor() as cursor:
        for statement in _HISTORY.split(";\n"):
            cursor.execute(statement)

    with reads() as statements:
        response = client.get(reverse("admin:channels_receipt_changelist"))

    assert response.status_code == 200
    for executed in statements:
        if "channels_receipt" in executed.text:
            assert rows_read(explain(executed)) < 300


_SEALS = """
INSERT INTO billing_seal (company_id, day, parts, transfers, available, held, head, created_at)
SELECT CASE n WHEN 2000 THEN %s ELSE %s END, current_date - n, '[]', 1, 0, 0,
  CASE n WHEN 2000 THEN 'abcdef' ELSE '' END, now() FROM generate_series(1, 3000) AS n
"""


@pytest.mark.parametrize("searched", ["small", "{id}", "abcdef"])
def test_search_of_seals_looks_up_no_company_for_each(client: Client, searched: str) -> None:
    sign_in(client, make_operator(), "password", "mfa")
    large = CompanyFactory.create(name="Large")
    small = CompanyFactory.create(name="Small")
    execute(_SEALS, [small.pk, large.pk])
    execute("ANALYZE billing_seal")

    with reads() as statements:
        path = reverse("admin:billing_seal_changelist")
        page = client.get(path, {"q": searched.format(id=small.pk)})

    assert [seal.company_id for seal in page.context["cl"].result_list] == [small.pk]
    for executed in statements:
        if "billing_seal" in executed.text:
            assert '"accounts_company"."name"' not in executed.text.partition(" WHERE ")[2]


_SEALS_OF_A_DAY = """
INSERT INTO billing_seal (company_id, day, parts, transfers, available, held, head, created_at)
SELECT id, current_date - 1, '[]', 1, 0, 0, '', now() FROM accounts_company ORDER BY id
"""


@pytest.mark.parametrize("searched", ["", "first", "{id}", "nobody"])
def test_list_of_seals_reads_no_whole_day(client: Client, searched: str) -> None:
    sign_in(client, make_operator(), "password", "mfa")
    company = CompanyFactory.create(name="First")
    names = [f"Company {number}" for number in range(3000)]
    Company.objects.bulk_create([Company(name=name) for name in names], batch_size=1000)
    execute(_SEALS_OF_A_DAY)
    execute("ANALYZE billing_seal, accounts_company")

    with reads() as statements:
        path = reverse("admin:billing_seal_changelist")
        page = client.get(path, {"q": searched.format(id=company.pk)} if searched else {})

    count = {"": 50, "nobody": 0}.get(searched, 1)
    assert len(page.context["cl"].result_list) == count
    assert page.context["cl"].rows_scanned == 0
    for executed in statements:
        if "billing_seal" in executed.text:
            assert rows_read(explain(executed)) < 300


_LINKS = """
INSERT INTO links_link (id, company_id, mode, slug, key, is_alias, url)
SELECT gen_random_uuid(), %s, 'live', 's' || n, 's' || n, n = 2000, 'https://example.com/'
FROM generate_series(1, 3000) AS n
"""


def test_aliases_that_read_as_pages_are_found_without_all_links(client: Client) -> None:
    sign_in(client, make_operator(), "password", "mfa")
    execute(_LINKS, [CompanyFactory.create().pk])
    execute("ANALYZE links_link")

    with reads() as statements:
        client.get(reverse("admin:links_link_changelist"), {"name": "reserved"})

    aliases = [each for each in statements if '"is_alias" AND' in each.text]
    assert aliases
    for executed in aliases:
        assert rows_read(explain(executed)) == 1
