"""Link lists and statistics of the API: the indexes they use, and their bounds."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from django.contrib import admin
from django.db import connection
from django.db.models import QuerySet
from django.test import RequestFactory
from django.utils import timezone

from accounts.models import Company
from links.api.views import with_slug
from links.clicks import partitions
from links.models import Link
from operator_admin.model_pages.links import LinkAdmin
from storage.months.calendar import month_of
from tests.api.clients import Api
from tests.factories import LinkFactory
from tests.sql import execute

pytestmark = pytest.mark.django_db


def plan(links: QuerySet[Link]) -> str:
    execute("SET LOCAL enable_seqscan = off")
    return links.explain()


def admin_search(slug: str) -> QuerySet[Link]:
    request = RequestFactory().get("/")
    link_admin = LinkAdmin(Link, admin.site)
    return link_admin.get_search_results(request, Link.objects.all(), slug)[0]


def test_names_are_found_by_their_index(company: Company) -> None:
    assert "link_key_once" in plan(Link.objects.filter(with_slug("sale", company.pk)))
    assert "link_key_once" in plan(admin_search("https://go.example/sale"))


def test_reassigned_alias_belongs_to_its_new_owner(api: Api) -> None:
    now = timezone.now()
    LinkFactory.create(company=api.company, slug="sale", is_alias=True, retired_at=now)
    link = LinkFactory.create(company=api.company, slug="Sale", is_alias=True)

    result = api.get("/links", {"slug": "SALE"}).body["data"]

    assert [row["id"] for row in result] == [link.public_id]
    assert list(admin_search("sale")) == [link]


@pytest.mark.parametrize("interval", ["day", "hour"])
def test_period_from_an_extreme_year_is_too_long(api: Api, interval: str) -> None:
    link = LinkFactory.create(company=api.company)

    response = api.get(
        f"/links/{link.public_id}/stats", {"from": "0001-01-01", "interval": interval}
    )

    assert (response.status, list(response.body["errors"])) == (422, ["from"])


def clicked(link_id: UUID, *moments: datetime) -> None:
    partitions.ensure(*{month_of(at, UTC) for at in moments})
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO links_click VALUES (%s, %s, 'person', '', 'ios', 'KZ')",
            [(link_id, at) for at in moments],
        )


@pytest.mark.parametrize("interval", ["day", "hour"])
def test_breakdown_covers_the_same_period_as_the_series(api: Api, interval: str) -> None:
    link = LinkFactory.create(company=api.company)
    noon = timezone.localtime().replace(hour=12, minute=0, second=0, microsecond=0)
    first, last = noon - timedelta(days=5), noon - timedelta(days=3)
    own = [first + timedelta(minutes=1), last - timedelta(minutes=1)]
    beside = [first - timedelta(days=1), *(last + timedelta(days=n) for n in (1, 2))]
    clicked(link.id, *own, *beside)
    asked: dict[str, Any] = {
        "interval": interval,
        "from": (first + timedelta(minutes=30)).isoformat(),
        "to": last.isoformat(),
    }

    body = api.get(f"/links/{link.public_id}/stats", asked).body

    assert body["devices"] == [{"name": "ios", "clicks": 2}]
    assert body["countries"] == [{"name": "KZ", "clicks": 2}]
