"""A statement for many sends, guesses or receipts looks for the rows of each by index."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.db import transaction

from accounts.models import Company
from billing.models import Wallet
from catalogue.ids import uuid7
from channels.outcomes import unchanged_messages
from otp.check import check
from otp.models import Verification
from otp.send import code_writes
from otp.send.code_writes import CodeWrite
from tests.api.clients import Api
from tests.channels.message_stages import accepted, store_due_receipt
from tests.factories import CompanyFactory
from tests.plans import explain, nodes, reads, rows_read
from tests.sql import execute
from tools.demo import history

pytestmark = pytest.mark.django_db
GROUP_SIZE = 8
CODES = 3_000
EMPTY = {"channels_blockedphone", "api_idempotentrequest"}  # here


@pytest.fixture(autouse=True)
def _others(company: Company) -> None:
    """Gives other companies wallets, and this one a history."""
    companies = [Company(name=f"Company {number}") for number in range(2_000)]
    Wallet.objects.bulk_create(
        Wallet(company=other, available=1)
        for other in Company.objects.bulk_create(companies, batch_size=500)
    )
    history.fill_company(company, messages=CODES, days=20)
    execute("ANALYZE")


@pytest.fixture
def writes(api: Api, monkeypatch: pytest.MonkeyPatch) -> list[CodeWrite]:
    """Returns sends to phones that have a code already, as a group's statement gets them."""
    result: list[CodeWrite] = []

    def collect(one: CodeWrite) -> Any:
        result.append(one)
        return code_writes.alone(one)

    monkeypatch.setattr(code_writes.SENDS, "run", collect)
    for number in range(GROUP_SIZE):
        api.post("/otp/send", {"phone": f"+7916000123{number}"})
    return [
        replace(write, params={**write.params, "message_id": uuid7(), "verification_id": uuid7()})
        for write in result
    ]


def plan_of(run: Callable[[], object]) -> Any:
    with reads() as statements, transaction.atomic():
        run()
        transaction.set_rollback(True)
    (statement,) = statements
    with transaction.atomic():  # it runs once more
        plan = explain(statement)
        transaction.set_rollback(True)
    return plan


def scanned(plan: Any) -> set[str]:
    """Tables that are read from one end to the other, but for those with next to nothing in them:
    in the last days of a month the partition of the next one.
    """
    result = {node["Relation Name"] for node in nodes(plan) if node["Node Type"] == "Seq Scan"}
    return {name for name in result if _rows(name) > GROUP_SIZE}


def _rows(table: str) -> int:
    rows = execute(f"SELECT count(*) FROM ONLY {table}")  # noqa: S608 - a table's own name
    return int(rows[0][0])


def test_sends_and_guesses_read_their_own_rows(company: Company, writes: list[CodeWrite]) -> None:
    one, *others = writes
    other = CompanyFactory.create()
    elsewhere = replace(one, params={**one.params, "company_id": other.pk, "api_key_id": None})
    guesses = [
        check._Guess(
            {
                "company_id": company.pk,
                "mode": "live",
                "phone": write.params["phone"],
                "purpose": write.params["purpose"],
            },
            [write.params["mac"]],
        )
        for write in writes
    ]

    sends = [
        plan_of(lambda: code_writes._write_together(writes)),
        plan_of(lambda: code_writes._write_together([elsewhere, *others])),
    ]
    checked = plan_of(lambda: check._check_together(guesses))

    assert [rows_read(plan) < 10 * GROUP_SIZE for plan in sends] == [True, True]
    assert [scanned(plan) <= EMPTY for plan in sends] == [True, True]
    assert rows_read(checked) < 4 * GROUP_SIZE
    assert scanned(checked) == set()
    assert Verification.objects.count() > CODES / 2


def test_deliveries_read_their_own_rows(api: Api) -> None:
    for number in range(GROUP_SIZE):
        store_due_receipt(accepted(api, f"+7916000123{number}"))
    execute("ANALYZE")

    plan = plan_of(lambda: unchanged_messages.deliver_unchanged(100))

    assert rows_read(plan) < 20 * GROUP_SIZE
    assert not {"channels_message", "channels_attempt"} & {
        partition[:16] for partition in scanned(plan)
    }
