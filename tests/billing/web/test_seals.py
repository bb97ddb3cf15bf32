"""Seals of the ledger, as the API and a page show them."""

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Member
from billing.models import Seal
from billing.seals import sealing
from tests.api.clients import Api
from tests.billing.seals.books import FIRST, at, book, busy_company, day
from tests.factories import MemberFactory

pytestmark = pytest.mark.django_db
TODAY = FIRST + timedelta(days=70)


@pytest.fixture
def sealed(api: Api) -> list[Seal]:
    """The company's seals, and another company's next to them."""
    busy_company()
    for number in (0, 1, 20, 33, 64):
        book(api.company, at(number), "grant", 1)
    sealing.seal_before(TODAY)  # not `seal`, which waits until ten minutes after midnight
    return list(Seal.objects.filter(company=api.company).order_by("-day"))


def last_of_months(seals: list[Seal]) -> list[Seal]:
    """Returns the last seals of finished months, which today's seal is not."""
    last: dict[tuple[int, int], Seal] = {}
    for seal in reversed(seals):
        last[seal.day.year, seal.day.month] = seal
    last.pop((TODAY.year, TODAY.month), None)
    return list(last.values())[::-1]


def test_api_lists_the_last_seal_of_each_month(api: Api, sealed: list[Seal]) -> None:
    data = api.get("/seals").body["data"]

    assert [(row["day"], row["head"]) for row in data] == [
        (str(seal.day), seal.head) for seal in last_of_months(sealed)
    ]


def test_api_lists_every_day_in_pages(api: Api, sealed: list[Seal]) -> None:
    first = api.get("/seals", {"period": "day", "limit": 3}).body
    second = api.get("/seals", {"period": "day", "limit": 3, "cursor": first["next_cursor"]}).body

    result = first["data"] + second["data"]
    assert [(seal["day"], seal["transfers"], seal["balance"]) for seal in result] == [
        (str(day(number)), count, count)
        for count, number in reversed(list(enumerate((0, 1, 20, 33, 64), 1)))
    ]
    assert second["has_more"] is False


def test_unknown_period_is_refused(api: Api) -> None:
    refused = api.get("/seals", {"period": "year"})

    assert (refused.status, refused.body["code"]) == (422, "invalid_input")
    assert set(refused.body["errors"]) == {"period"}


@pytest.fixture
def reader(client: Client, api: Api) -> Member:
    member: Member = MemberFactory.create(company=api.company, role=Member.Role.ACCOUNTANT)
    client.force_login(member.user)
    return member


def test_page_shows_months_with_their_heads(
    client: Client, reader: Member, sealed: list[Seal]
) -> None:
    page = client.get(reverse("balance-seals")).content.decode()

    shown = [seal for seal in sealed if seal.head in page]
    assert shown == last_of_months(sealed)
    assert "kvitok-verify" in page
