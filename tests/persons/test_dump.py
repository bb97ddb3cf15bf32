"""The whole database and Redis, searched for a person as somebody with a copy of both would."""

import random
from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django import Settings

from accounts import purges
from accounts.models import Company
from channels.models import Message, RememberedPhone
from channels.routing.learned import phone_memories
from otp.models import GuardEvidence, GuardRestriction
from otp.protection import guard_evidence, restrictions
from otp.protection.requesters import hashed
from persons.erasure import erase
from persons.person import Person
from tests.api.clients import Api
from tests.factories import UserFactory
from tests.otp.protection.evidence_steps import begin
from tests.otp.protection.sends import sent
from tests.otp.sent_codes import code_of
from tests.otp.tried import begin as begin_learning
from tests.otp.tried import learn_at, tried
from tests.stack.secret_search import postgres_contents, redis_values

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("queued_at_once")]

PHONE = "+79161230477"
IP = "8.8.4.9"
DEVICE = "device-of-one-person"


@pytest.fixture
def sought(api: Api) -> dict[str, bytes]:
    """The values that identify the person, as a dump would contain them."""
    return {
        "phone": PHONE.removeprefix("+").encode(),
        "hash of the phone": phone_memories.hashes_of(PHONE)[0].hex().encode(),
        "address": IP.encode(),
        "hash of the address": hashed(api.company.pk, "ip", IP).encode(),
        "device": DEVICE.encode(),
        "hash of the device": hashed(api.company.pk, "device", DEVICE).encode(),
    }


@pytest.fixture
def company(api: Api) -> Company:
    """A company whose person entered a code, and is held back for codes that nobody entered."""
    body = {"phone": PHONE, "ip": IP, "device_id": DEVICE}
    assert api.post("/otp/send", body).status == 200
    assert api.post("/otp/verify", {"phone": PHONE, "code": code_of(PHONE)}).status == 200
    (message,) = Message.objects.all()
    finished = timezone.now() - timedelta(minutes=10)
    Message.objects.filter(pk=message.pk).update(
        state="delivered", due_at=None, finished_at=finished, is_owed=False
    )
    begin_learning()
    tried(api.company, {"channel": "telegram", "delivered": 2.0}, phone=PHONE, entered_after=9.0)
    learn_at(timezone.now())
    begin()
    draw = random.Random(5)  # noqa: S311 - a simulation
    people = [f"+7916{draw.randrange(10**7):07}" for _ in range(216)]
    for n, phone in enumerate(people[:200]):
        sent(api.company, ago=280, phone=phone, entered_after=9.0, sender={"ip": f"{n:024x}"})
    told = {"ip": IP, "device": DEVICE}
    own = {kind: hashed(api.company.pk, kind, text) for kind, text in told.items()}
    for phone in [*people[200:], PHONE]:
        sent(api.company, ago=100, phone=phone, sender=own)
    guard_evidence.count()
    assert GuardEvidence.objects.filter(kind="device", value=own["device"]).exists()
    held_back = GuardRestriction.objects.get(kind="ip", value=own["ip"])
    restrictions.lift(restriction=held_back, user=UserFactory.create())  # the audit log remembers
    return api.company


def found(sought: dict[str, bytes], settings: Settings) -> set[str]:
    dump = postgres_contents() + redis_values(settings.REDIS_URL)
    return {name for name, text in sought.items() if text in dump}


def restrictions_end() -> None:
    """Ends the last restriction three days ago."""
    long_ago = timezone.now() - timedelta(days=3)
    GuardEvidence.objects.update(seen_at=long_ago)
    GuardRestriction.objects.update(until=long_ago)
    begin(ago=6.0)
    guard_evidence.count()
    GuardRestriction.objects.exclude(ended_at=None).update(ended_at=long_ago)


@pytest.mark.usefixtures("company")
def test_person_is_in_the_dump_before(sought: dict[str, bytes], settings: Settings) -> None:
    assert found(sought, settings) == {
        "phone",
        "hash of the phone",
        "hash of the address",
        "hash of the device",
    }


@pytest.mark.usefixtures("company")
def test_nothing_is_left_after_an_erasure(sought: dict[str, bytes], settings: Settings) -> None:
    erase(person=Person(PHONE))

    # What others were held back for with this address goes two days later.
    assert found(sought, settings) == {"hash of the address", "hash of the device"}
    others = Message.objects.filter(params__has_key="sender")
    assert others.count() == 216
    others.update(params={})
    restrictions_end()
    purges.purge()
    assert found(sought, settings) == set()


@pytest.mark.usefixtures("company")
def test_nothing_is_left_after_the_retention_period(
    sought: dict[str, bytes], settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.PHONE_RETENTION = settings.RAW_RETENTION = settings.REQUEST_LOG_DAYS = -1
    monkeypatch.setattr(phone_memories, "EXPIRY", 0)
    RememberedPhone.objects.update(seen_at=timezone.now() - timedelta(seconds=1))
    restrictions_end()

    purges.purge()

    assert found(sought, settings) == set()
