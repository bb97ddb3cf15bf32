"""The operator's list of blocked phones."""

import pytest
from django.db import IntegrityError
from django.test import Client
from django.urls import reverse

from accounts.models import User
from channels.models import BlockedPhone
from tests.api.clients import Api

pytestmark = pytest.mark.django_db
ADD = reverse("admin:channels_blockedphone_add")
LIST = reverse("admin:channels_blockedphone_changelist")
PHONE = "+79161234568"


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
def test_invalid_phone_is_refused_with_the_expected_format(
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
