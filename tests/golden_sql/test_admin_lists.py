"""The admin's list of receipts reads a page of them, by a plan for any parameters."""

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from tests.operator_admin.operators import make_operator, sign_in
from tests.plans import explain, reads, rows_read

pytestmark = pytest.mark.django_db
_HISTORY = """
INSERT INTO channels_receipt (provider, digest, provider_id, state, word, error_code, error_detail,
  received_at, due_at, raw)
SELECT 'demo', sha256(n::text::bytea), n::text, 'delivered', 'ok', '', '',
  now() - n * interval '1 second', NULL, '' FROM generate_series(1, 3000) AS n;
ANALYZE channels_receipt"""


def test_page_of_receipts_reads_no_others(client: Client) -> None:
    sign_in(client, make_operator(), "password", "mfa")
    with connection.cursor() as cursor:
        for statement in _HISTORY.split(";\n"):
            cursor.execute(statement)

    with reads() as statements:
        answer = client.get(reverse("admin:channels_receipt_changelist"))

    assert answer.status_code == 200
    for executed in statements:
        if "channels_receipt" in executed.text:
            assert rows_read(explain(executed)) < 300
