"""The cabinet's lists take as many queries for many rows as for few."""

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from accounts.models import Company, Member
from tests.cabinet.lists import LISTS
from tests.cabinet.routes import CABINET
from tests.factories import MemberFactory


def test_every_list_is_known() -> None:
    assert {name for name in CABINET if name.endswith("-list")} == set(LISTS)


def queries(client: Client, member: Member, name: str) -> int:
    client.force_login(member.user)
    client.get(reverse(name))  # what is read once per session or per process
    with CaptureQueriesContext(connection) as captured:
        assert client.get(reverse(name)).status_code == 200
    return len(captured)


@pytest.mark.parametrize("name", LISTS)
def test_rows_cost_no_queries(client: Client, db: None, name: str) -> None:
    one = MemberFactory.create()
    count = MemberFactory.create()
    LISTS[name].fill(one.company, 1)
    LISTS[name].fill(count.company, LISTS[name].most)

    assert queries(client, one, name) == queries(client, count, name)


@pytest.mark.parametrize("name", [name for name, of in LISTS.items() if of.filter])
def test_filter_without_matches_shows_a_message(
    client: Client, company: Company, owner: Member, name: str
) -> None:
    LISTS[name].fill(company, 3)

    body = client.get(f"{reverse(name)}?{LISTS[name].filter}").content.decode()

    assert "<tbody" not in body
    assert 'class="empty"' in body
