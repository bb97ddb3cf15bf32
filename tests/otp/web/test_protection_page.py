"""The cabinet's page of the protection."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Member
from otp.models import GuardReplay, GuardRestriction

pytestmark = pytest.mark.django_db
EARLY = "раньше обычного: эти номера атакуют у других компаний"
COUNTS = "введено 0 из 7"


def restrict(owner: Member, **fields: Any) -> GuardRestriction:
    now = timezone.now()
    usual = {
        "kind": "country",
        "value": "SO",
        "step": GuardRestriction.Step.CHALLENGE,
        "rule": "unverified",
        "is_enforced": True,
        "codes": 7,
        "excess": 112,
        "began_at": now,
        "until": now + timedelta(minutes=15),
    }
    return GuardRestriction.objects.create(company=owner.company, **usual | fields)


@pytest.mark.parametrize("is_early", [True, False])
def test_restriction_because_of_others_says_so(
    client: Client, owner: Member, *, is_early: bool
) -> None:
    restrict(owner, is_early=is_early)

    page = client.get(reverse("protection")).content.decode()

    assert (EARLY in page) is is_early
    assert COUNTS in page


@pytest.mark.parametrize(
    ("typed", "value"),
    [
        ("+7916123••••", "+7916123"),
        ("+7 916 123-••-••", "+7916123"),
        ("+7916•••••••", "+7916"),
        ("+7916••••", None),  # not a whole number: would be all of a carrier's
        ("+79••", None),
        ("+7916123•••••", None),
    ],
)
def test_masks_of_whole_numbers_are_let_through(
    client: Client, owner: Member, typed: str, value: str | None
) -> None:
    client.post(reverse("protection-let-through"), {"number": typed, "country": ""})

    rows = GuardRestriction.objects.filter(company=owner.company, rule="lifted")
    assert list(rows.values_list("value", flat=True)) == ([value] if value else [])


@pytest.mark.parametrize("mode", ["watch", "off"])
def test_mode_and_other_companies_are_chosen(client: Client, owner: Member, mode: str) -> None:
    page = client.post(reverse("protection-mode"), {"mode": mode}, follow=True)

    owner.company.refresh_from_db()
    assert (owner.company.guard_mode, owner.company.guard_watches_others) == (mode, False)
    assert page.context["mode_form"].initial == {"mode": mode, "watches_others": False}


def test_restriction_is_lifted_after_a_question(client: Client, owner: Member) -> None:
    restriction = restrict(owner)
    address = reverse("protection-lift", args=[restriction.pk])

    asked = client.get(address)
    was_open = GuardRestriction.objects.get().ended_at is None
    page = client.post(address, follow=True)

    restriction.refresh_from_db()
    assert (asked.status_code, was_open) == (200, True)
    assert restriction.ended_at is not None
    assert (page.context["restrictions"], len(page.context["let_through"])) == ([], 1)
    assert [row.pk for row in page.context["ended"]] == [restriction.pk]


def test_neither_a_number_nor_a_country_is_refused(client: Client, owner: Member) -> None:
    page = client.post(reverse("protection-let-through"), {"number": "", "country": ""})

    assert page.context["form"].errors
    assert not GuardRestriction.objects.exists()


def test_replay_of_the_last_week_is_requested(client: Client, owner: Member) -> None:
    client.post(reverse("protection-replay"))

    assert GuardReplay.objects.filter(company=owner.company).count() == 1
    assert client.get(reverse("protection-replay-status")).context["replay"] is not None
