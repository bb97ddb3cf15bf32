"""The ledger: grants, holds, captures and releases, and that no wallet is negative."""

from collections.abc import Callable, Iterable
from functools import partial
from uuid import UUID

import pytest
from django.core.management import call_command
from django.db import IntegrityError, connection, transaction
from hypothesis import settings, strategies
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from accounts.models import Company
from billing.models import Transfer, Wallet
from billing.wallet import ledger
from billing.wallet.ledger import DeliveryProof, Settlement, TransferKind
from catalogue.ids import uuid7
from channels.lifecycle.state_machine import Event, EventKind
from channels.models import Attempt
from channels.outcomes import transitions
from tests.api.clients import Api, ClientOf
from tests.api.races import at_once
from tests.billing.wallet.double_entry import ACCOUNTS
from tests.channels.message_stages import accepted, submitted
from tests.factories import CompanyFactory, TransferFactory, UserFactory

pytestmark = pytest.mark.django_db


@pytest.fixture
def poor() -> Company:
    """A company that never had a token."""
    company: Company = CompanyFactory.create()
    return company


def settle(*settlements: Settlement) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        ledger.settle(cursor, settlements)


def hold(company: Company, amount: int = 1, n: int = 1) -> Settlement:
    """An open hold of a message, as the statement that accepts it leaves one; yet unsettled."""
    message_id = uuid7()
    TransferFactory.create(
        company=company, kind=TransferKind.HOLD, amount=amount, message_id=message_id, hold=n
    )
    wallet = Wallet.objects.get(company=company)
    wallet.available -= amount
    wallet.held += amount
    wallet.save()
    return Settlement(company.pk, message_id, n, amount, TransferKind.RELEASE, reason="failed")


def captured(one: Settlement, proof: str = DeliveryProof.RECEIPT) -> Settlement:
    return Settlement(
        one.company_id, one.message_id, one.hold, one.amount, TransferKind.CAPTURE, proof
    )


def balance(company: Company) -> tuple[int, int]:
    return ledger.balance(company.pk)


def check_books() -> None:
    """Asserts that each wallet is the sum of its transfers, all between two named accounts."""
    for wallet in Wallet.objects.all():
        accounts = {"outside": 0, "available": 0, "held": 0, "spent": 0}
        for transfer in Transfer.objects.filter(company=wallet.company):
            debited, credited = ACCOUNTS[TransferKind(transfer.kind)]
            accounts[debited] -= transfer.amount
            accounts[credited] += transfer.amount
        assert (wallet.available, wallet.held) == (accounts["available"], accounts["held"])
        assert sum(accounts.values()) == 0


def test_granted_tokens_are_withdrawn_to_zero(poor: Company) -> None:
    user = UserFactory.create()

    granted = ledger.grant(company=poor, amount=100, reason="gift", user=user)
    taken = ledger.withdraw(company=poor, amount=40, reason="mistake")
    ledger.withdraw(company=poor, amount=60, reason="the rest")

    assert balance(poor) == (0, 0)
    assert granted.kind == "grant"
    assert granted.amount == 100
    assert granted.reason == "gift"
    assert granted.created_by == user
    assert (taken.kind, taken.amount, taken.created_by) == ("withdraw", 40, None)
    check_books()


def test_grant_with_a_key_happens_once(poor: Company) -> None:
    ledger.grant(company=poor, amount=10, reason="invoice 7", key="invoice:7")

    with pytest.raises(IntegrityError), transaction.atomic():
        ledger.grant(company=poor, amount=10, reason="invoice 7", key="invoice:7")

    assert balance(poor) == (10, 0)


@pytest.mark.parametrize("amount", [11, 10**6])
def test_wallet_is_never_negative(poor: Company, amount: int) -> None:
    ledger.grant(company=poor, amount=10, reason="gift")

    with pytest.raises(IntegrityError), transaction.atomic():
        ledger.withdraw(company=poor, amount=amount, reason="too much")

    assert balance(poor) == (10, 0)
    assert Transfer.objects.count() == 1


def test_held_tokens_cannot_be_withdrawn(api: Api) -> None:
    submitted(api)

    with pytest.raises(IntegrityError), transaction.atomic():
        ledger.withdraw(company=api.company, amount=1000, reason="all")

    assert balance(api.company) == (999, 1)


@pytest.mark.parametrize("amount", [0, -1, -10])
def test_amounts_are_positive(poor: Company, amount: int) -> None:
    ledger.grant(company=poor, amount=5, reason="gift")

    for move in (ledger.grant, ledger.withdraw):
        with pytest.raises(IntegrityError), transaction.atomic():
            move(company=poor, amount=amount, reason="?")

    assert balance(poor) == (5, 0)
    check_books()


def test_capture_spends_and_release_returns(poor: Company) -> None:
    ledger.grant(company=poor, amount=20, reason="gift")
    spent = hold(poor, 16)
    returned = hold(poor, 1)
    assert balance(poor) == (3, 17)

    settle(captured(spent), returned)

    assert balance(poor) == (4, 0)
    check_books()


def test_settling_again_changes_nothing(poor: Company) -> None:
    ledger.grant(company=poor, amount=20, reason="gift")
    settlement = hold(poor, 5)
    settle(settlement)

    settle(settlement)
    settle(captured(settlement))
    settle(settlement, captured(settlement), settlement)

    assert balance(poor) == (20, 0)
    assert Transfer.objects.filter(message_id=settlement.message_id).count() == 2
    check_books()


def test_hold_repeated_in_one_group_is_settled_once(poor: Company) -> None:
    ledger.grant(company=poor, amount=20, reason="gift")
    settlement = hold(poor, 5)

    settle(captured(settlement), settlement, captured(settlement))

    assert balance(poor) == (15, 0)
    check_books()


def test_companies_in_one_group_are_settled_separately() -> None:
    companies = [CompanyFactory.create() for _ in range(3)]
    for company in companies:
        ledger.grant(company=company, amount=10, reason="gift")

    settle(*(captured(hold(company, 2)) for company in companies), hold(companies[0], 3))

    assert [balance(company) for company in companies] == [(8, 0)] * 3
    check_books()


def test_capture_needs_a_proof(poor: Company) -> None:
    ledger.grant(company=poor, amount=5, reason="gift")
    settlement = hold(poor)

    with pytest.raises(IntegrityError), transaction.atomic():
        settle(captured(settlement, proof=""))

    assert balance(poor) == (4, 1)


def test_release_has_no_proof(poor: Company) -> None:
    with pytest.raises(IntegrityError):
        TransferFactory.create(company=poor, kind=TransferKind.RELEASE, proof=DeliveryProof.RECEIPT)


def test_hold_that_was_never_opened_cannot_be_settled(poor: Company) -> None:
    ledger.grant(company=poor, amount=5, reason="gift")

    with pytest.raises(IntegrityError), transaction.atomic():
        settle(Settlement(poor.pk, uuid7(), 1, 3, TransferKind.RELEASE, reason="?"))

    assert balance(poor) == (5, 0)


def test_free_message_writes_no_transfer(poor: Company) -> None:
    settle(Settlement(poor.pk, uuid7(), 1, 0, TransferKind.CAPTURE, DeliveryProof.RECEIPT))

    assert not Transfer.objects.exists()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE billing_transfer SET amount = amount + 1",
        "UPDATE billing_transfer SET reason = 'other'",
        "DELETE FROM billing_transfer",
        "TRUNCATE billing_transfer CASCADE",
    ],
)
def test_transfers_are_immutable(poor: Company, statement: str) -> None:
    ledger.grant(company=poor, amount=5, reason="gift")
    connection.check_constraints()  # a pending check alone would stop TRUNCATE

    with (
        pytest.raises(IntegrityError, match="immutable"),
        transaction.atomic(),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)

    assert Transfer.objects.get().amount == 5


def test_company_with_books_cannot_be_deleted(poor: Company) -> None:
    ledger.grant(company=poor, amount=5, reason="gift")

    with pytest.raises(IntegrityError):
        poor.delete()


def test_balance_is_available_and_held_tokens(api: Api, test_api: Api, client_of: ClientOf) -> None:
    accepted(api, channel="sms")

    for client in (api, test_api):
        assert client.get("/balance").body == {
            "success": True,
            "message": "Баланс токенов",
            "available": 984,
            "held": 16,
        }
    assert client_of(CompanyFactory.create()).get("/balance", Accept_Language="en").body == {
        "success": True,
        "message": "Token balance",
        "available": 0,
        "held": 0,
    }


def take(happened: Iterable[tuple[Attempt, EventKind]]) -> None:
    transitions.commit_events(
        [Event(attempt.message_id, attempt.id, what) for attempt, what in happened]
    )


def test_books_balance_over_a_month(api: Api) -> None:
    company = api.company
    by_code = [accepted(api, f"+7916123456{n}") for n in range(4)]
    by_sms = [accepted(api, f"+7916123457{n}", channel="sms") for n in range(3)]
    assert balance(company) == (1000 - 4 - 48, 4 + 48)

    take((attempt, EventKind.DELIVERED) for attempt in by_code[:3])
    assert balance(company) == (948, 49)
    take([(by_code[3], EventKind.UNREACHABLE), (by_sms[0], EventKind.REFUSED)])
    assert balance(company) == (965, 32)
    take([(by_sms[1], EventKind.READ), (by_sms[2], EventKind.GIVEN_UP)])
    assert balance(company) == (981, 0)
    take([(by_sms[2], EventKind.DELIVERED)])
    assert balance(company) == (981, 0)
    ledger.withdraw(company=company, amount=981, reason="end of the contract")

    assert balance(company) == (0, 0)
    check_books()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("round_number", range(3))
def test_parallel_operations_keep_the_books(api: Api, round_number: int) -> None:
    attempts = [accepted(api, f"+7916123456{n}") for n in range(6)]

    calls: list[Callable[[], object]] = [
        partial(take, [(attempt, what)])
        for attempt in attempts
        for what in (EventKind.DELIVERED, EventKind.EXPIRED)
    ]
    calls += [partial(ledger.grant, company=api.company, amount=7, reason="gift")] * 3
    calls += [partial(ledger.withdraw, company=api.company, amount=3, reason="back")] * 3
    at_once(calls)

    spent = Transfer.objects.filter(kind="capture").count()
    assert Transfer.objects.filter(kind="release").count() == 6 - spent
    assert balance(api.company) == (1000 + 21 - 9 - spent, 0)
    check_books()
    call_command("reconcile", verbosity=0)


class Books(RuleBasedStateMachine):
    """Compares any order of movements, some of them impossible, with two plain numbers."""

    @initialize()
    def open(self) -> None:
        self.company = CompanyFactory.create()
        self.available = 0
        self.held = 0
        self.open_holds: dict[UUID, Settlement] = {}
        self.closed: list[Settlement] = []

    @rule(amount=strategies.integers(1, 50))
    def grant(self, amount: int) -> None:
        ledger.grant(company=self.company, amount=amount, reason="gift")
        self.available += amount

    @rule(amount=strategies.integers(1, 50))
    def withdraw(self, amount: int) -> None:
        if amount <= self.available:
            ledger.withdraw(company=self.company, amount=amount, reason="back")
            self.available -= amount
            return
        with pytest.raises(IntegrityError), transaction.atomic():
            ledger.withdraw(company=self.company, amount=amount, reason="back")

    @rule(amount=strategies.sampled_from([1, 16]))
    def hold(self, amount: int) -> None:
        if amount <= self.available:
            settlement = hold(self.company, amount)
            self.open_holds[settlement.message_id] = settlement
            self.available -= amount
            self.held += amount

    @rule(data=strategies.data(), is_delivered=strategies.booleans())
    def settle(self, data: strategies.DataObject, is_delivered: bool) -> None:
        known = [*self.open_holds.values(), *self.closed]
        if not known:
            return
        settlement = data.draw(strategies.sampled_from(known))
        settle(captured(settlement) if is_delivered else settlement)
        if self.open_holds.pop(settlement.message_id, None):
            self.closed.append(settlement)
            self.held -= settlement.amount
            self.available += 0 if is_delivered else settlement.amount

    @invariant()
    def wallet_is_as_on_paper(self) -> None:
        assert balance(self.company) == (self.available, self.held)

    def teardown(self) -> None:
        check_books()


def test_books_balance_in_any_order(db: None) -> None:
    run_state_machine_as_test(
        Books, settings=settings(max_examples=15, stateful_step_count=15, deadline=None)
    )
