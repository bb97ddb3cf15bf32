"""From what became of codes to what the router knows: each code teaches once."""

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.models import Company
from channels.models import Message, RememberedPhone, RouteDay, RouterState
from channels.routing.learned import learned_router, phone_memories
from channels.routing.smart.reach import Standing
from channels.routing.smart.router import Router
from otp.statistics import route_learning, savings_count
from tests.api.races import at_once
from tests.factories import TransferFactory
from tests.otp.tried import begin, count_at, learn_at, tried
from tests.sql import execute

pytestmark = pytest.mark.django_db
PHONE = "+79161234567"


def standing(channel: str, phone: str = PHONE) -> Standing:
    return phone_memories.load(phone).standing(channel, timezone.now().timestamp())


def learned() -> Router:
    return learned_router.decode(RouterState.objects.get().state)


def trials(channel: str, country: str = "RU") -> tuple[int, int]:
    """Delivered, and all, of a channel in a country, whatever the phones' past."""
    cells = [
        cell
        for (cell_country, range_, name, _past), cell in learned().reach.cells.items()
        if (cell_country, range_, name) == (country, "", channel)
    ]
    return round(sum(cell.hits for cell in cells)), round(sum(cell.trials for cell in cells))


def test_delivered_channel_is_proved(company: Company) -> None:
    begin()
    tried(company, {"channel": "whatsapp", "delivered": 3.0}, entered_after=12.0)

    route_learning.learn()

    assert standing("whatsapp") is Standing.PROVED
    assert trials("whatsapp") == (1, 1)
    assert RememberedPhone.objects.count() == 1
    assert PHONE.encode() not in bytes(RememberedPhone.objects.get().phone_hash)


def test_refusal_and_the_next_channel_are_learned(company: Company) -> None:
    begin()
    tried(
        company,
        {"channel": "telegram", "refused": 1.0},
        {"channel": "sms", "after": 1.0, "delivered": 5.0},
        entered_after=20.0,
    )

    route_learning.learn()

    assert (standing("telegram"), standing("sms")) == (Standing.REFUSED, Standing.PROVED)
    assert (trials("telegram"), trials("sms")) == ((0, 1), (1, 1))


def test_silence_counts_until_a_late_proof(company: Company) -> None:
    begin()
    tried(
        company,
        {"channel": "telegram"},
        {"channel": "sms", "after": 14.0, "delivered": 5.0},
        phone="+79161111111",
    )
    tried(
        company,
        {"channel": "telegram", "delivered": 40.0},
        {"channel": "sms", "after": 14.0, "delivered": 5.0},
        phone="+79162222222",
    )

    route_learning.learn()

    assert standing("telegram", "+79161111111") is Standing.UNPROVED_ONCE
    assert standing("telegram", "+79162222222") is Standing.PROVED
    assert trials("telegram") == (1, 2)


def test_barred_sms_is_remembered(company: Company) -> None:
    begin()
    tried(company, {"channel": "sms", "refused": 1.0, "barred": True})

    route_learning.learn()

    assert standing("sms") is Standing.BARRED


def test_faults_of_accounts_teach_nothing(company: Company) -> None:
    begin()
    tried(company, {"channel": "sms", "fault": True})

    route_learning.learn()

    assert standing("sms") is Standing.NEW
    assert not learned().reach.cells


def test_code_sent_by_two_channels_proves_neither(company: Company) -> None:
    begin()
    tried(company, {"channel": "telegram"}, {"channel": "sms", "after": 9.0}, entered_after=30.0)

    route_learning.learn()

    assert Standing.PROVED not in {standing("telegram"), standing("sms")}


def test_codes_of_the_last_minutes_are_not_learned_yet(company: Company) -> None:
    begin()
    tried(company, {"channel": "sms", "delivered": 4.0}, ago=60)

    route_learning.learn()
    assert standing("sms") is Standing.NEW

    learn_at(timezone.now() + timedelta(seconds=90))
    assert standing("sms") is Standing.PROVED


def test_code_that_was_sent_again_proves_no_earlier_message(company: Company) -> None:
    begin(400)
    first = tried(company, {"channel": "whatsapp"}, ago=390, entered_after=80.0)
    again = tried(company, {"channel": "sms", "delivered": 5.0}, ago=330)
    Message.objects.filter(pk=again.pk).update(subject_id=first.subject_id)

    route_learning.learn()

    assert (standing("whatsapp"), standing("sms")) == (Standing.UNPROVED_ONCE, Standing.PROVED)
    assert trials("whatsapp") == (0, 1)


def test_worker_that_dies_learns_nothing(company: Company, monkeypatch: pytest.MonkeyPatch) -> None:
    begin()
    tried(company, {"channel": "sms", "delivered": 4.0}, route={"arm": "smart"})

    def die(*_args: object) -> None:
        raise ConnectionError

    with monkeypatch.context() as patched:
        patched.setattr(learned_router, "encode", die)
        with pytest.raises(ConnectionError):
            route_learning.learn()
    assert not RememberedPhone.objects.exists()

    route_learning.learn()
    route_learning.learn()

    assert trials("sms") == (1, 1)


@pytest.mark.django_db(transaction=True)
def test_two_workers_learn_once(company: Company) -> None:
    begin()
    for n in range(20):
        attempt = {"channel": "sms", "delivered": 4.0}
        tried(company, attempt, phone=f"+7916000{n:04}", route={"arm": "smart"})

    at_once([route_learning.learn] * 8)

    assert trials("sms") == (20, 20)


def test_state_survives_its_row(company: Company) -> None:
    begin(400)
    for n in range(30):
        attempt = (
            {"channel": "telegram", "delivered": 2.0 + n % 5} if n % 3 else {"channel": "telegram"}
        )
        tried(company, attempt, ago=390 - n, phone=f"+7916000{n:04}", entered_after=9.0)
    route_learning.learn()

    state = RouterState.objects.get().state
    again = learned_router.encode(learned_router.decode(state), timezone.now().timestamp())

    assert state["cells"]
    assert state["channel_health"]
    assert again == state
    assert learned_router.decode({"format": 0}).reach.cells == {}


def test_memories_go_after_half_a_year(company: Company) -> None:
    begin()
    tried(company, {"channel": "sms", "delivered": 4.0})
    route_learning.learn()

    assert savings_count.purge(100) == 0
    RememberedPhone.objects.update(seen_at=timezone.now() - timedelta(days=181))
    assert savings_count.purge(100) == 1


def test_failing_minute_of_learning_is_skipped(company: Company) -> None:
    begin(ago=600.0)
    broken = tried(company, {"channel": "sms", "delivered": 3.0}, ago=500.0)
    tried(company, {"channel": "telegram", "delivered": 3.0}, ago=200.0, phone="+79161234568")
    execute(
        "UPDATE channels_attempt SET finished_at = 'infinity' WHERE message_id = %s",
        [broken.pk],
    )

    route_learning.learn()
    route_learning.learn()

    assert trials("telegram") == (1, 1)
    assert trials("sms") == (0, 0)


WAY = {"channel": "telegram", "delivered": 3.0}


@pytest.fixture(autouse=True)
def _counted_until_an_hour_ago() -> None:
    past = timezone.now() - timedelta(hours=1)
    RouterState.objects.create(pk=RouterState.ONLY, learned_until=past, counted_until=past)


def charge(message: Message, tokens: int) -> None:
    TransferFactory.create(
        company=message.company,
        kind="capture",
        amount=tokens,
        proof="receipt",
        message_id=message.pk,
    )


def rows() -> list[tuple[object, ...]]:
    result = RouteDay.objects.order_by("-arm", "country")
    return list(
        result.values_list("country", "arm", "codes", "entered", "tokens", "tokens_squared")
    )


def count() -> None:
    count_at(timezone.now() + timedelta(minutes=15))


def test_arms_are_counted_by_day_and_country(company: Company) -> None:
    smart = [tried(company, WAY, route={"arm": "smart"}, phone=f"+7916123456{n}") for n in (7, 8)]
    sms = {"channel": "sms", "delivered": 3.0}
    held_out = tried(
        company, sms, route={"arm": "hold_out"}, phone="+79161234569", entered_after=20.0
    )
    tried(company, WAY, phone="+77011234567")
    for message in smart:
        charge(message, 1)
    charge(held_out, 16)

    count()
    count()

    assert rows() == [("RU", "smart", 2, 0, 2, 2), ("RU", "hold_out", 1, 1, 16, 256)]


def test_codes_of_persons_erased_meanwhile_are_counted(company: Company) -> None:
    charge(tried(company, WAY, route={"arm": "smart"}, phone="+7916*"), 16)

    count()

    assert rows() == [("RU", "smart", 1, 0, 16, 256)]


def test_delivery_that_was_free_costs_nothing(company: Company) -> None:
    tried(company, WAY, route={"arm": "smart"}, price=16)

    count()

    assert rows() == [("RU", "smart", 1, 0, 0, 0)]


def test_code_that_was_sent_again_is_one_code_of_its_first_arm(company: Company) -> None:
    first = tried(company, WAY, ago=260, route={"arm": "smart"}, entered_after=100.0)
    again = tried(company, {"channel": "sms", "delivered": 2.0}, ago=200, route={"arm": "hold_out"})
    Message.objects.filter(pk=again.pk).update(subject_id=first.subject_id)
    charge(first, 1)
    charge(again, 16)

    count()

    assert rows() == [("RU", "smart", 1, 1, 17, 289)]


def test_codes_wait_until_all_is_charged(company: Company) -> None:
    message = tried(company, WAY, route={"arm": "smart"})
    count_at(timezone.now() + timedelta(minutes=5))
    assert rows() == []

    charge(message, 1)
    count()

    assert rows() == [("RU", "smart", 1, 0, 1, 1)]
