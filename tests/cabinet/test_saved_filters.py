"""Filters of lists are saved, without phones and ids, and opened first if chosen."""

from functools import partial
from urllib.parse import urlencode

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse

from accounts.models import Member, SavedFilter
from cabinet import saved_filters
from tests.api.races import at_once
from tests.factories import MemberFactory

MESSAGES = SavedFilter.Page.MESSAGES
REQUESTS = SavedFilter.Page.REQUESTS


def save(member: Member, name: str, *, is_default: bool = False, **params: str) -> SavedFilter:
    return saved_filters.save(
        user=member.user,
        company=member.company,
        page=MESSAGES,
        name=name,
        params=params,
        is_default=is_default,
    )


def create(client: Client, query: str = "list=messages&state=failed", **data: str) -> int:
    return client.post(f"{reverse('saved-filter-create')}?{query}", data).status_code


def test_filter_is_saved_and_shown(client: Client, owner: Member) -> None:
    assert create(client, "list=messages&mode=live&state=failed&follow=1", name="Сбои") == 302

    page = client.get(f"{reverse('message-list')}?state=failed&mode=live")

    assert SavedFilter.objects.get().query == "mode=live&state=failed"
    (chip,) = page.context["filters"]
    assert (chip.row.name, chip.is_active) == ("Сбои", True)


def test_phones_and_ids_are_not_kept(client: Client, owner: Member) -> None:
    phone = "phone=%2B79161234567&id=msg_1&channel=sms"

    page = client.get(f"{reverse('saved-filter-create')}?list=messages&{phone}")
    create(client, f"list=messages&{phone}", name="SMS")

    assert "персональные данные" in page.content.decode()
    assert SavedFilter.objects.get().query == "channel=sms"


def test_longest_filter_is_kept_and_an_impossible_one_left_out(
    client: Client, owner: Member
) -> None:
    purpose = "🏴" * 64
    query = {"list": "messages", "mode": "live", "state": "delivered", "purpose": purpose}
    create(client, urlencode(query), name="Longest")
    create(client, urlencode(query | {"purpose": "p" * 3000}), name="Longer")

    kept = dict(SavedFilter.objects.values_list("name", "query"))
    assert kept["Longest"] == urlencode(query).removeprefix("list=messages&")
    assert kept["Longer"] == "mode=live&state=delivered"


def test_list_opens_with_the_default(client: Client, owner: Member) -> None:
    create(client, name="Сбои", is_default="on")
    create(client, "list=messages&channel=sms", name="SMS", is_default="on")

    response = client.get(reverse("message-list"))

    assert response["Location"] == f"{reverse('message-list')}?channel=sms"
    assert client.get(f"{reverse('message-list')}?mode=live").status_code == 200
    assert client.get(reverse("message-list"), headers={"HX-Request": "true"}).status_code == 200
    assert SavedFilter.objects.filter(is_default=True).count() == 1


def test_same_name_replaces_in_any_case(client: Client, owner: Member) -> None:
    create(client, name="сбои")
    create(client, "list=messages&state=expired", name="Сбои")

    row = SavedFilter.objects.get()
    assert (row.name, row.query) == ("сбои", "state=expired")


def test_number_of_filters_is_bounded(client: Client, owner: Member) -> None:
    for n in range(SavedFilter.MAX_SAVED):
        save(owner, f"№ {n}")

    response = client.post(f"{reverse('saved-filter-create')}?list=messages", {"name": "ещё"})

    assert response.status_code == 200
    assert "Сначала удалите один" in response.content.decode()
    with pytest.raises(ValidationError):
        save(owner, "ещё")


@pytest.mark.django_db(transaction=True)
def test_parallel_defaults_leave_one(owner: Member) -> None:
    at_once([partial(save, owner, f"№ {n}", is_default=True) for n in range(8)])

    assert SavedFilter.objects.filter(is_default=True).count() == 1


def test_filters_are_of_one_person(client: Client, owner: Member) -> None:
    row = save(MemberFactory.create(company=owner.company), "чужой", is_default=True)

    assert client.get(reverse("message-list")).context["filters"] == []
    for method in (client.get, client.post):
        assert method(reverse("saved-filter-delete", args=[row.pk])).status_code == 404
    assert SavedFilter.objects.count() == 1


def test_deletion_is_confirmed(client: Client, owner: Member) -> None:
    row = save(owner, "Сбои", state="failed")
    address = reverse("saved-filter-delete", args=[row.pk])

    assert "Сбои" in client.get(address).content.decode()
    client.post(address)

    assert not SavedFilter.objects.exists()


def test_accountant_saves_no_filter_of_requests(client: Client, owner: Member) -> None:
    Member.objects.update(role=Member.Role.ACCOUNTANT)

    assert create(client, f"list={REQUESTS}", name="x") == 404
    assert create(client, f"list={MESSAGES}", name="x") == 302
