from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Member
from otp.models import GuardRestriction

pytestmark = pytest.mark.django_db
EARLY = "раньше обычного: эти номера атакуют у других компаний"
COUNTS = "введено 0 из 7"


@pytest.mark.parametrize("is_early", [True, False])
def test_restriction_because_of_others_says_so(
    client: Client, owner: Member, *, is_early: bool
) -> None:
    now = timezone.now()
    GuardRestriction.objects.create(
        company=owner.company,
        kind="country",
        value="SO",
        step=GuardRestriction.Step.CHALLENGE,
        rule="unverified",
        is_enforced=True,
        is_early=is_early,
        codes=7,
        excess=112,
        began_at=now,
        until=now + timedelta(minutes=15),
    )

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

    found = GuardRestriction.objects.filter(company=owner.company, rule="lifted")
    assert list(found.values_list("value", flat=True)) == ([value] if value else [])
