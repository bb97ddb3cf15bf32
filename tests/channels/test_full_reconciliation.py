"""`reconcile` reads what changed since the last seal; `--full` everything, in portions."""

from collections.abc import Callable
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone
from structlog.testing import capture_logs

from accounts.models import Company
from billing.models import ReconciliationRun, SealedDay, Transfer, Wallet
from billing.seals import proof, sealing
from channels import full_reconciliation, reconciliation, tasks
from tests.api.races import at_once
from tests.billing.seals.books import at, book, busy_company, by_force, day, wallet_of
from tests.factories import AttemptFactory, MessageFactory

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def company(monkeypatch: pytest.MonkeyPatch) -> Company:
    """Sealed books whose messages exist, read in small portions."""
    company = busy_company()
    messages_of(company)
    book_top_up = Transfer.objects.get(kind="top_up")
    by_force("UPDATE billing_transfer SET kind = 'grant' WHERE id = %s", [book_top_up.pk])
    sealing.seal()
    monkeypatch.setattr(full_reconciliation, "MESSAGES", 2)
    monkeypatch.setattr(proof, "PORTION_TRANSFERS", 3)
    monkeypatch.setattr(proof, "PORTION_DAYS", 5)
    return company


def messages_of(company: Company) -> None:
    """The messages that the transfers are of."""
    rows = Transfer.objects.filter(company=company, message_id__isnull=False)
    for hold in rows.filter(kind="hold"):
        is_charged = rows.filter(message_id=hold.message_id, kind="capture").exists()
        message = MessageFactory.create(
            id=hold.message_id,
            company=company,
            state="delivered" if is_charged else "expired",
            price=hold.amount,
            created_at=hold.created_at,
        )
        AttemptFactory.create(message=message, state="delivered" if is_charged else "expired")


def changed() -> set[str]:
    return {breach.check for breach in reconciliation.breaches()}


def full() -> set[tuple[str, str]]:
    return {(breach.check, breach.subject) for breach in full_reconciliation.breaches()}


def test_sealed_books_agree(company: Company) -> None:
    out = StringIO()

    call_command("reconcile", stdout=out)
    call_command("reconcile", "--full", stdout=out)

    sealed = SealedDay.last()
    assert out.getvalue().splitlines() == [
        f"The books agree since {sealed}: {len(reconciliation.CHECKS)} checks, no breach.",
        "The books agree since the beginning: "
        f"{full_reconciliation.NUMBER_OF_CHECKS} checks, no breach.",
    ]


@pytest.mark.parametrize(
    "column",
    [
        "amount = amount + 1",
        "reason = reason || ' '",
        "key = key || 'x'",
        "hold = 2",
        "proof = 'click'",
        "created_at = created_at + interval '1 microsecond'",
    ],
)
def test_changed_row_of_an_old_month_is_found(company: Company, column: str) -> None:
    kinds = {"key": "grant", "proof": "capture"}
    kind = kinds.get(column.split(maxsplit=1)[0], "hold")
    row = Transfer.objects.filter(kind=kind).order_by("created_at")[0]

    by_force(f"UPDATE billing_transfer SET {column} WHERE id = %s", [row.pk])  # noqa: S608

    assert (proof.DIFFERS, f"company {company.pk} on {day(0)}") in full()


def test_deleted_row_is_found(company: Company) -> None:
    row = Transfer.objects.filter(kind="withdraw").get()

    by_force("DELETE FROM billing_transfer WHERE id = %s", [row.pk])

    assert full() == {(proof.DIFFERS, f"company {company.pk} on {day(20)}")}


@pytest.mark.parametrize(("number", "check"), [(20, proof.DIFFERS), (30, proof.UNSEALED)])
def test_row_behind_a_seal_is_found(company: Company, number: int, check: str) -> None:
    book(company, at(number), "grant", 5)

    assert (check, f"company {company.pk} on {day(number)}") in full()
    assert sealing.seal() == 0


def test_company_behind_the_seals_is_found(company: Company) -> None:
    other = busy_company()

    assert (proof.UNSEALED, f"company {other.pk} on {day(0)}") in full()


@pytest.mark.parametrize(
    ("statement", "check"),
    [
        ("UPDATE billing_seal SET head = repeat('0', 64) WHERE day = %s", proof.BROKEN),
        ("UPDATE billing_seal SET available = available + 1 WHERE day = %s", proof.BROKEN),
        ("UPDATE billing_seal SET parts = '[]' WHERE day = %s", proof.DIFFERS),
        ("DELETE FROM billing_seal WHERE day = %s", proof.UNSEALED),
        ("UPDATE billing_sealedday SET head = repeat('0', 64) WHERE day = %s", proof.OTHER_DAY),
        ("UPDATE billing_sealedday SET companies = 5 WHERE day = %s", proof.OTHER_DAY),
    ],
)
def test_changed_seal_is_found(company: Company, statement: str, check: str) -> None:
    by_force(statement, [day(20)])

    assert check in {found for found, _subject in full()}


def test_company_removed_with_its_seals_is_found(company: Company) -> None:
    other = busy_company()
    by_force("DELETE FROM billing_sealedday; DELETE FROM billing_seal", [])
    sealing.seal()
    for table in ("transfer", "seal", "wallet"):
        by_force(f"DELETE FROM billing_{table} WHERE company_id = %s", [other.pk])  # noqa: S608

    assert (proof.OTHER_DAY, str(day(0))) in full()


PLANTED: dict[str, Callable[[Company], object]] = {
    "wallet differs from its transfers": lambda _company: Wallet.objects.update(available=1),
    "final message not resolved exactly once": lambda company: MessageFactory.create(
        company=company, state="failed", price=1, created_at=timezone.now()
    ),
    "transfer of a message that does not exist": lambda company: (
        book(company, timezone.now(), "hold", 1, message_id=MessageFactory.build().id),
        wallet_of(company),
    ),
}


@pytest.mark.parametrize("check", PLANTED)
def test_reconcile_checks_messages_since_the_last_seal(company: Company, check: str) -> None:
    assert changed() == set()

    PLANTED[check](company)

    assert check in changed()


def test_old_messages_are_left_to_the_full_check(company: Company) -> None:
    old = Transfer.objects.filter(kind="capture").order_by("created_at")[0].message_id
    by_force("UPDATE channels_message SET state = 'failed' WHERE id = %s", [old])

    assert changed() == set()
    assert full() == {("charged without proof", f"message {old}")}


def test_full_check_goes_on_where_it_was(company: Company) -> None:
    old = Transfer.objects.filter(kind="capture").order_by("created_at")[0].message_id
    by_force("UPDATE channels_message SET state = 'failed' WHERE id = %s", [old])
    run = full_reconciliation.advance(timedelta(0))
    while not run.breaches:
        full_reconciliation._advance(run.pk)
        run.refresh_from_db()
    by_force("UPDATE channels_message SET state = 'delivered' WHERE id = %s", [old])

    with pytest.raises(CommandError, match="1 breaches"):
        call_command("reconcile", "--full", stdout=StringIO())

    call_command("reconcile", "--full", stdout=StringIO())
    assert ReconciliationRun.objects.filter(finished_at=None).exists() is False


def test_two_full_checks_share_the_work(company: Company) -> None:
    runs = at_once([full_reconciliation.advance, full_reconciliation.advance])

    assert [run.breaches for run in runs] == [[], []]
    assert ReconciliationRun.objects.filter(finished_at=None).exists() is False


def test_schedule_restarts_after_a_week(company: Company) -> None:
    assert full_reconciliation.is_due()
    tasks.check_whole_ledger()
    assert not full_reconciliation.is_due()

    ReconciliationRun.objects.update(finished_at=timezone.now() - timedelta(days=8))
    by_force("DELETE FROM billing_transfer WHERE kind = 'withdraw'", [])
    with capture_logs() as lines:
        tasks.check_whole_ledger()

    assert {line["check"] for line in lines} == {proof.DIFFERS}
    assert reconciliation.recent_breaches() == [
        f"{proof.DIFFERS}: company {company.pk} on {day(20)}"
    ]
