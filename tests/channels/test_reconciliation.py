"""`reconcile` accepts a consistent ledger and names every inconsistency."""

from collections.abc import Callable
from dataclasses import asdict
from datetime import timedelta
from functools import partial
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.db.models import F
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from structlog.testing import capture_logs

from accounts.models import Company
from billing.models import Payment, Transfer, Wallet
from billing.wallet import ledger
from channels import full_reconciliation, reconciliation, tasks
from channels.lifecycle.state_machine import EventKind
from channels.models import Attempt, Message, OpenMessage
from tests.api.clients import Api
from tests.billing.seals.books import by_force
from tests.channels.message_stages import accepted, apply_event, send
from tests.document_factories import ClosedMonthFactory
from tests.factories import CompanyFactory, MessageFactory, OrderFactory, TransferFactory
from tests.plans import explained, nodes
from tests.session_settings import session_setting

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def busy_api(api: Api, test_api: Api) -> Api:
    """A client of a company with a message in every state."""
    for number, what in enumerate(
        (EventKind.DELIVERED, EventKind.UNREACHABLE, EventKind.EXPIRED, EventKind.NO_NEWS)
    ):
        attempt = accepted(api, f"+7916123456{number}", channel=["sms", "whatsapp"][number % 2])
        apply_event(attempt, what)
    late = accepted(api, "+79161234577")
    apply_event(late, EventKind.REFUSED)
    apply_event(late, EventKind.DELIVERED)
    send(api, "+79161234578")
    send(test_api, "+79161234579")
    return api


def breached_checks(*, recent: bool = False) -> set[str]:
    return {breach.check for breach in reconciliation.breaches(recent=recent)}


def test_sound_ledger_has_no_breach(busy_api: Api) -> None:
    out = StringIO()

    call_command("reconcile", stdout=out)

    assert out.getvalue() == "The books agree since the beginning: 18 checks, no breach.\n"
    assert ledger.balance(busy_api.company.pk) == (982, 2)


def test_sound_top_up_and_empty_books_have_no_breach(request: pytest.FixtureRequest) -> None:
    assert breached_checks() == set()
    request.getfixturevalue("busy_api")
    pay()
    assert breached_checks() == set()


def lose_a_line() -> None:
    kept = Transfer.objects.filter(kind="grant").values_list("id", flat=True)[0]
    by_force("DELETE FROM billing_transfer WHERE id = %s", [kept])


def deliver_without_settling() -> None:
    Message.objects.filter(state="queued", mode="live").update(state="delivered")


def reopen_a_failed_one() -> None:
    Message.objects.filter(state="failed").update(state="sent")


def settle_another_time() -> None:
    """For a hold that was never opened: a unique index refuses a second for an open one."""
    message = Message.objects.get(state="expired")
    TransferFactory.create(
        company_id=message.company_id, kind="release", amount=1, message_id=message.id, hold=2
    )


def charge_an_open_one() -> None:
    message = Message.objects.get(state="sent")
    TransferFactory.create(
        company_id=message.company_id,
        kind="capture",
        amount=message.price,
        message_id=message.id,
        proof="receipt",
    )


def forget_the_message() -> None:
    message = Message.objects.get(state="failed")
    Attempt.objects.filter(message=message).delete()
    by_force("DELETE FROM channels_message WHERE id = %s", [message.id])


def pay_without_crediting() -> None:
    OrderFactory.create(state="paid", paid_at=timezone.now())


def pay(
    *, to: Company | None = None, tokens: int = 1000, state: str = "paid", is_credited: bool = True
) -> None:
    """Stores a paid top-up, credited correctly but for these values."""
    paid_at = timezone.now() if state == "paid" else None
    company = Wallet.objects.get().company
    order = OrderFactory.create(company=company, state=state, paid_at=paid_at)
    Payment.objects.create(
        gateway="sandbox",
        payment_id=order.payment_id,
        order=order,
        amount=order.amount,
        currency=order.currency,
        is_credited=is_credited,
    )
    if state == "paid":
        with transaction.atomic():
            ledger.top_up(company=to or company, amount=tokens, key=order.transfer_key)


def credit_without_an_order() -> None:
    with transaction.atomic():
        ledger.top_up(company=Wallet.objects.get().company, amount=5, key="top_up:" + "0" * 32)


def undo_the_proof() -> None:
    Attempt.objects.filter(state="delivered").update(state="sent")


def change_a_balance() -> None:
    first = Transfer.objects.order_by("created_at", "id")[0]
    by_force(
        "UPDATE billing_transfer SET balance_after = balance_after + 1 WHERE id = %s", [first.pk]
    )


WALLET = "wallet differs from its transfers"
BALANCE = reconciliation.BALANCE_DIFFERS
HELD = "held differs from the open holds"
RESOLVED = "final message not resolved exactly once"
OPEN = "open message without exactly one open hold"
PROOF = "charged without proof"
CREDITED = "paid top-up not credited exactly once"
CLOSED = "closed month differs from its charges or the month before"
LOTS = "lots of tokens differ from the last closed month"
DOCUMENTS = "documents differ from their closed month"
QUEUED = "queued otherwise than its message"
OF_THE_SENT = partial(Message.objects.filter, state="sent")
QUEUE_OF_THE_SENT = partial(OpenMessage.objects.filter, message__state="sent")
PLANTED: dict[str, tuple[Callable[[], object], set[str]]] = {
    "tokens out of nothing": (
        lambda: Wallet.objects.update(available=F("available") + 1),
        {WALLET},
    ),
    "tokens lost": (lambda: Wallet.objects.update(available=F("available") - 1), {WALLET}),
    "held moved to available": (
        lambda: Wallet.objects.update(available=F("available") + 1, held=F("held") - 1),
        {WALLET, HELD},
    ),
    "wallet gone": (lambda: Wallet.objects.all().delete(), {WALLET, HELD}),
    "balance changed": (change_a_balance, {BALANCE}),
    "line lost": (lose_a_line, {WALLET, BALANCE}),
    "delivered and not settled": (deliver_without_settling, {HELD, RESOLVED}),
    "open and settled": (reopen_a_failed_one, {HELD, OPEN}),
    "settled twice": (settle_another_time, {WALLET, RESOLVED}),
    "charged before it ended": (charge_an_open_one, {WALLET, OPEN, PROOF}),
    "charged without a delivered attempt": (undo_the_proof, {PROOF}),
    "paid and not credited": (pay_without_crediting, {CREDITED}),
    "credited with another number": (lambda: pay(tokens=999), {CREDITED}),
    "credited to another company": (lambda: pay(to=CompanyFactory.create()), {CREDITED}),
    "credited by no payment": (lambda: pay(is_credited=False), {CREDITED}),
    "payment credited and top-up unpaid": (
        lambda: pay(state="pending"),
        {"credited payment of an unpaid top-up"},
    ),
    "credited and not paid": (credit_without_an_order, {"credited without a paid top-up"}),
    "line of no message": (forget_the_message, {"transfer of a message that does not exist"}),
    "price changed": (
        lambda: OF_THE_SENT().update(price=2),
        {HELD, "hold of another price than its message"},
    ),
    "owed and settled": (
        lambda: Message.objects.filter(state="delivered", price__gt=0).update(is_owed=True),
        {HELD, RESOLVED, "owed without a try in a vendor's hands"},
    ),
    "past its deadline": (
        lambda: OF_THE_SENT().update(deadline=timezone.now() - timedelta(minutes=2)),
        {"open past its deadline"},
    ),
    "out of the queue": (
        lambda: QUEUE_OF_THE_SENT().delete(),
        {"open message missing from the queue", HELD},
    ),
    "queued with another time": (
        lambda: OpenMessage.objects.update(due_at=timezone.now()),
        {QUEUED},
    ),
    "queued for another channel": (
        lambda: OpenMessage.objects.update(route_key="live sms code"),
        {QUEUED},
    ),
    "queued without its attempt": (lambda: QUEUE_OF_THE_SENT().update(attempt_id=None), {QUEUED}),
    "closed without charges": (ClosedMonthFactory.create, {CLOSED}),
    "closed without lots": (lambda: ClosedMonthFactory.create(spent=0, closing=100), {LOTS}),
    "closed without documents": (
        lambda: ClosedMonthFactory.create(charges=[{"tokens": 100, "amount": "1.00"}]),
        {DOCUMENTS},
    ),
}
WHOLE_LEDGER = {
    WALLET,
    CLOSED,
    LOTS,
    DOCUMENTS,
    BALANCE,
    "credited without a paid top-up",
    "transfer of a message that does not exist",
}


@pytest.mark.parametrize("name", PLANTED)
def test_planted_breach_is_found(busy_api: Api, name: str) -> None:
    plant, expected = PLANTED[name]
    assert breached_checks() == breached_checks(recent=True) == set()

    plant()

    assert breached_checks() == expected
    assert breached_checks(recent=True) == expected - WHOLE_LEDGER
    with pytest.raises(CommandError):
        call_command("reconcile", stdout=StringIO())


@pytest.mark.parametrize(("hours", "is_recent"), [(1.9, True), (2.1, False)])
@pytest.mark.parametrize(
    ("plant", "breach"),
    [(deliver_without_settling, RESOLVED), (reopen_a_failed_one, OPEN), (undo_the_proof, PROOF)],
)
def test_recent_check_covers_two_hours(
    busy_api: Api, plant: Callable[[], object], breach: str, hours: float, is_recent: bool
) -> None:
    plant()
    Message.objects.update(created_at=F("created_at") - timedelta(hours=hours))

    assert (breach in breached_checks(recent=True)) is is_recent
    assert breach in breached_checks()


def test_full_check_has_no_statement_timeout(busy_api: Api) -> None:
    with CaptureQueriesContext(connection) as full:
        assert breached_checks() == set()
    with CaptureQueriesContext(connection) as recent:
        assert breached_checks(recent=True) == set()

    lifted = "SET LOCAL statement_timeout = 0"
    assert (lifted in statements(full), lifted in statements(recent)) == (True, False)


def statements(queries: CaptureQueriesContext) -> list[str]:
    return [query["sql"] for query in queries.captured_queries]


def test_recent_messages_are_found_by_an_index(company: Company) -> None:
    start = timezone.now() - timedelta(days=30)
    days = [start + timedelta(hours=2 * n) for n in range(360)]
    Message.objects.bulk_create(
        MessageFactory.build(company=company, phone=f"+7916{n:07d}", created_at=at)
        for n, at in enumerate(days)
    )
    with session_setting("enable_seqscan", "off"), connection.cursor() as cursor:
        cursor.execute("ANALYZE channels_message")  # else the plan depends on the tests before
        recent = reconciliation.RECENT_MESSAGES
        plan = explained(f"SELECT 1 FROM channels_message message WHERE {recent}")  # noqa: S608

    assert "message_with_phone" in plan


def test_breaches_are_named(busy_api: Api) -> None:
    message = Message.objects.get(state="sent")
    Message.objects.filter(pk=message.pk).update(state="delivered")
    out = StringIO()

    with pytest.raises(CommandError, match="2 breaches of 18 checks"):
        call_command("reconcile", stdout=out)

    assert out.getvalue().splitlines() == [
        f"held differs from the open holds: company {busy_api.company.pk}",
        f"final message not resolved exactly once: message {message.pk}",
    ]


def test_every_check_is_exercised() -> None:
    assert set().union(*(expected for _, expected in PLANTED.values())) == set(
        reconciliation.CHECKS
    )


@pytest.mark.parametrize("recent", [True, False])
def test_beat_task_logs_breaches(busy_api: Api, recent: bool) -> None:
    undo_the_proof()

    with capture_logs() as lines:
        tasks.check_ledger(recent=recent)

    assert [(line["log_level"], line["event"]) for line in lines] == [("error", "ledger_breach")]


def test_no_check_of_messages_asks_about_each_by_itself(db: None) -> None:
    """A subquery of a condition that also has an OR is executed for each row, however many."""
    with connection.cursor() as cursor:
        for check in full_reconciliation.OF_MESSAGES:
            query = reconciliation.CHECKS[check].format(**asdict(reconciliation.ALL))
            cursor.execute(f"EXPLAIN (FORMAT JSON) {query}")
            ((plans,),) = cursor.fetchall()
            kinds = {node.get("Parent Relationship") for node in nodes(plans[0]["Plan"])}
            assert "SubPlan" not in kinds, check
