"""The operator's list of phones that nobody sends to."""

import importlib

import pytest
from django.apps import apps
from django.db import IntegrityError, connection
from django.test import Client
from django.urls import reverse

from accounts.models import AuditEvent, User
from channels.models import BlockedPhone
from tests.api.clients import Api
from tests.desk.operators import make_operator, sign_in

pytestmark = pytest.mark.django_db
ADD = reverse("admin:channels_blockedphone_add")
LIST = reverse("admin:channels_blockedphone_changelist")
PHONE = "+79161234568"


@pytest.fixture
def operator(client: Client) -> User:
    user = make_operator()
    sign_in(client, user, "password", "mfa")
    return user


@pytest.mark.parametrize(
    "typed", ["8 916 123-45-68", "79161234568", "9161234568", "+7 (916) 123-45-68", PHONE]
)
def test_phone_blocked_in_any_spelling_is_sent_no_code(
    client: Client, operator: User, api: Api, typed: str
) -> None:
    client.post(ADD, {"phone": typed, "reason": "a complaint"})

    answer = api.post("/otp/send", {"phone": PHONE})

    assert BlockedPhone.objects.get().phone == PHONE
    assert (answer.status, answer.code) == (422, "recipient_unreachable")


@pytest.mark.parametrize("typed", ["abc", "123", "+7916", "911", ""])
def test_what_is_no_phone_is_refused_with_how_to_write_it(
    client: Client, operator: User, typed: str
) -> None:
    page = client.post(ADD, {"phone": typed, "reason": ""})

    assert page.context["adminform"].form.errors["phone"]
    assert not BlockedPhone.objects.exists()


def test_second_spelling_of_a_blocked_phone_is_a_duplicate(client: Client, operator: User) -> None:
    BlockedPhone.objects.create(phone=PHONE)

    page = client.post(ADD, {"phone": "8 916 123-45-68", "reason": ""})

    assert page.context["adminform"].form.errors["phone"]
    assert BlockedPhone.objects.count() == 1


@pytest.mark.parametrize("typed", ["8 916 123-45-68", "916123", "7916", "+7916123"])
def test_blocked_phone_is_found_in_any_spelling(client: Client, operator: User, typed: str) -> None:
    BlockedPhone.objects.create(phone=PHONE)
    BlockedPhone.objects.create(phone="+77011234568")

    found = client.get(LIST, {"q": typed}).context["cl"].result_list

    assert [one.phone for one in found] == [PHONE]


def test_database_keeps_other_spellings_out() -> None:
    with pytest.raises(IntegrityError, match="blocked_phone_is_e164"):
        BlockedPhone.objects.create(phone="79161234568")


def test_rows_of_before_are_spelled_as_sent_or_removed_with_a_record() -> None:
    migration = importlib.import_module("channels.migrations.0010_blocked_phones_e164")
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE channels_blockedphone DROP CONSTRAINT blocked_phone_is_e164")
    for phone in ("8 916 123-45-68", "79161234569", "79161234568", "abc", "+77011234568"):
        BlockedPhone.objects.create(phone=phone)

    migration.spell_as_sent(apps, None)

    kept = set(BlockedPhone.objects.values_list("phone", flat=True))
    assert kept == {PHONE, "+79161234569", "+77011234568"}
    removed = AuditEvent.objects.filter(action="blocked_phone.removed")
    assert set(removed.values_list("subject", flat=True)) == {"abc", "79161234568"}


def test_operator_s_block_survives_in_the_row_that_a_stop_made() -> None:
    migration = importlib.import_module("channels.migrations.0010_blocked_phones_e164")
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE channels_blockedphone DROP CONSTRAINT blocked_phone_is_e164")
    BlockedPhone.objects.create(phone=PHONE, reason="STOP", said_stop=True)
    BlockedPhone.objects.create(phone="79161234568", reason="court order")

    migration.spell_as_sent(apps, None)

    kept = BlockedPhone.objects.get()
    assert (kept.phone, kept.reason, kept.said_stop) == (PHONE, "court order", False)
