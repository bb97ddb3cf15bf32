"""Open orders are found by partial indexes, by a plan for any parameters, in a long history."""

import pytest
from django.db import connection
from django.db.models import QuerySet

from billing.models import Order, Payment
from tests.factories import CompanyFactory
from tests.plans import explain, nodes, reads

pytestmark = pytest.mark.django_db
_HISTORY = """
INSERT INTO billing_order (id, company_id, tokens, amount, currency, gateway, state, payment_id,
  payment_url, return_url, language, parties, created_at, expires_at)
SELECT gen_random_uuid(), %(company)s, 1, 1, 'RUB', 'demo', 'expired', '', '', '', 'ru', '{}',
  now(), now() - n * interval '1 hour' FROM generate_series(1, 3000) AS n;
INSERT INTO billing_payment (gateway, payment_id, amount, currency, is_credited, problem, reference,
  created_at)
SELECT 'demo', 'demo-' || n, 1, 'RUB', false, '', '', now() FROM generate_series(1, 3000) AS n;
ANALYZE billing_order;
ANALYZE billing_payment"""


@pytest.mark.parametrize(
    ("rows", "index"),
    [
        (Order.objects.overdue(), "order_open"),
        (Payment.objects.needs_review(), "payment_needs_review"),
    ],
    ids=["overdue orders", "payments to review"],
)
def test_overdue_orders_and_payments_to_review_are_found_by_index(
    rows: QuerySet[Order | Payment], index: str
) -> None:
    company = CompanyFactory.create()
    with connection.cursor() as cursor:
        for statement in _HISTORY.split(";\n"):
            cursor.execute(statement, {"company": company.pk})

    with reads() as statements:
        assert list(rows.all()) == []

    (executed,) = statements
    result = [node.get("Index Name") for node in nodes(explain(executed))]
    assert index in result
