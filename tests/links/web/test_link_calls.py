"""The API's calls that read, list and change links and count their clicks."""

import json
from datetime import UTC, date, timedelta
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from django.db import connection
from django.utils import timezone

from accounts.models import ApiKey, AuditEvent, Company
from links.addresses.slugs import generate
from links.clicks import partitions
from links.follow import cached_row, resolution
from links.models import ClickDay, Link
from storage.months.calendar import month_of
from tests.api.clients import Api, ApiResponse, ClientOf
from tests.api.races import at_once
from tests.factories import CompanyFactory, LinkFactory
from tests.sql import execute

URL = "https://example.com/"


def bulk(api: Api, *links: object, **headers: str) -> ApiResponse:
    return api.post("/links/bulk", {"links": list(links)}, **headers)


def test_link_is_answered_with_all_its_fields(api: Api) -> None:
    link = LinkFactory.create(company=api.company, slug="Sale", is_alias=True)

    body = api.get(f"/links/{link.public_id}").body

    assert body == {
        "success": True,
        "message": "Короткая ссылка",
        "id": link.public_id,
        "short_url": "http://127.0.0.1:8000/Sale",
        "slug": "Sale",
        "alias": "Sale",
        "url": URL,
        "state": "active",
        "test": False,
        "created_at": body["created_at"],
        "expires_at": None,
        "utm": None,
        "expired_url": None,
        "once": False,
        "used_at": None,
        "until": None,
        "batch": None,
        "clicks": 0,
        "previews": 0,
        "scanners": 0,
        "first_click_at": None,
        "last_click_at": None,
    }


def test_list_is_paged_and_filtered(api: Api) -> None:
    past = timezone.now() - timedelta(hours=1)
    active = LinkFactory.create(company=api.company)
    expired = LinkFactory.create(company=api.company, expires_at=past)
    disabled = LinkFactory.create(company=api.company, disabled_at=past)
    used = LinkFactory.create(company=api.company, is_once=True, used_at=past, expires_at=past)
    LinkFactory.create(company=CompanyFactory.create())

    def ids(**query: Any) -> list[str]:
        return [row["id"] for row in api.get("/links", query).body["data"]]

    assert ids() == [used.public_id, disabled.public_id, expired.public_id, active.public_id]
    assert ids(state="active") == [active.public_id]
    assert ids(state="expired") == [expired.public_id]
    assert ids(state="disabled") == [disabled.public_id]
    assert ids(state="used") == [used.public_id]
    assert ids(slug=expired.slug) == [expired.public_id]
    first = api.get("/links", {"limit": 2}).body
    assert (first["has_more"], len(first["data"])) == (True, 2)
    assert ids(cursor=first["next_cursor"]) == [expired.public_id, active.public_id]
    assert api.get("/links", {"state": "lost"}).body["errors"] == {
        "state": ["Допустимо: active, expired, disabled, used"]
    }


def patch(api: Api, link: Link, **fields: object) -> ApiResponse:
    return api.call("PATCH", f"/links/{link.public_id}", json.dumps(fields).encode())


@pytest.mark.django_db(transaction=True)
def test_link_is_changed_switched_off_and_on(api: Api) -> None:
    link = LinkFactory.create(company=api.company)
    assert isinstance(resolution.resolve(link.slug), cached_row.LinkTarget)

    moved = patch(api, link, url="https://example.org/new", expires_in=3600)

    assert (moved.body["url"], moved.body["state"]) == ("https://example.org/new", "active")
    result = resolution.resolve(link.slug)
    assert isinstance(result, cached_row.LinkTarget)
    assert result.url == "https://example.org/new"
    off = api.call("DELETE", f"/links/{link.public_id}")
    assert (off.status, off.body["state"]) == (200, "disabled")
    assert resolution.resolve(link.slug) is cached_row.GONE
    assert patch(api, link, enabled=True, never_expires=True).body["expires_at"] is None
    assert isinstance(resolution.resolve(link.slug), cached_row.LinkTarget)
    assert [
        audit_event.action
        for audit_event in AuditEvent.objects.filter(subject=str(link)).order_by("id")
    ] == [
        "link.changed",
        "link.disabled",
        "link.changed",
    ]


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"url": "ftp://example.com"}, "url"),
        ({"expires_in": 59}, "expires_in"),
        ({"enabled": "yes"}, "enabled"),
        ({"never_expires": True, "expires_in": 60}, "never_expires"),
    ],
)
def test_invalid_changes_are_refused(api: Api, fields: dict[str, object], field: str) -> None:
    link = LinkFactory.create(company=api.company)

    response = patch(api, link, **fields)

    assert (response.status, list(response.body["errors"])) == (422, [field])
    assert Link.objects.get().url == URL


def test_link_with_a_reassigned_alias_cannot_be_enabled(api: Api) -> None:
    link = LinkFactory.create(
        company=api.company, is_alias=True, slug="sale", disabled_at=timezone.now()
    )
    Link.objects.update(retired_at=timezone.now())

    assert patch(api, link, enabled=True).code == "alias_taken"


def test_clicks_are_counted_by_day_and_by_hour(api: Api) -> None:
    link = LinkFactory.create(company=api.company, clicks=3, previews=1)
    now = timezone.now()
    ClickDay.objects.create(link=link, day=timezone.localdate(now), clicks=3, previews=1)
    partitions.ensure(month_of(now, UTC), month_of(now - timedelta(hours=2), UTC))
    with connection.cursor() as cursor:
        cursor.executemany(
            "INSERT INTO links_click VALUES (%s, %s, %s, %s, %s, %s)",
            [
                (link.id, now, "person", "news.example", "ios", "KZ"),
                (link.id, now, "person", "", "android", "KZ"),
                (link.id, now - timedelta(hours=2), "person", "news.example", "ios", ""),
                (link.id, now, "preview", "", "", ""),
            ],
        )

    days = api.get(f"/links/{link.public_id}/stats").body
    hours = api.get(f"/links/{link.public_id}/stats", {"interval": "hour"}).body

    assert (days["clicks"], days["previews"], len(days["series"])) == (3, 1, 30)
    assert days["series"][-1]["clicks"] == 3
    assert sum(series_item["clicks"] for series_item in hours["series"]) == 3
    assert [series_item["clicks"] for series_item in hours["series"]][-3:] == [1, 0, 2]
    assert days["referrers"] == [{"name": "news.example", "clicks": 2}, {"name": None, "clicks": 1}]
    assert days["devices"] == [{"name": "ios", "clicks": 2}, {"name": "android", "clicks": 1}]
    assert days["countries"] == [{"name": "KZ", "clicks": 2}, {"name": None, "clicks": 1}]


def test_days_are_whole_ones_of_the_service_in_utc(api: Api) -> None:
    link = LinkFactory.create(company=api.company)
    ClickDay.objects.create(link=link, day=date(2026, 3, 2), clicks=3)
    span = {"from": "2026-03-01T20:59:59Z", "to": "2026-03-01T21:00:00Z"}  # Moscow's midnight

    series = api.get(f"/links/{link.public_id}/stats", span).body["series"]

    assert [(series_item["at"], series_item["clicks"]) for series_item in series] == [
        ("2026-02-28T21:00:00Z", 0),
        ("2026-03-01T21:00:00Z", 3),
    ]


def test_hours_are_in_utc_for_any_requested_zone(api: Api) -> None:
    link = LinkFactory.create(company=api.company)
    at = timezone.now().replace(minute=10)
    partitions.ensure(month_of(at, UTC))
    execute("INSERT INTO links_click VALUES (%s, %s, 'person', '', '', '')", [link.id, at])
    delhi = at.astimezone(ZoneInfo("Asia/Kolkata"))  # half an hour off
    span = {"from": delhi.isoformat(), "to": (delhi + timedelta(minutes=1)).isoformat()}

    series = api.get(f"/links/{link.public_id}/stats", span | {"interval": "hour"}).body["series"]

    assert [(series_item["at"], series_item["clicks"]) for series_item in series] == [
        (f"{at:%Y-%m-%dT%H}:00:00Z", 1)
    ]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"interval": "week"}, "interval"),
        ({"from": "2020-01-01", "to": "2026-01-01"}, "from"),
        ({"from": "2026-01-02", "to": "2026-01-01"}, "from"),
        ({"from": "yesterday"}, "from"),
    ],
)
def test_invalid_periods_are_refused(api: Api, query: dict[str, str], field: str) -> None:
    link = LinkFactory.create(company=api.company)

    response = api.get(f"/links/{link.public_id}/stats", query)

    assert (response.status, list(response.body["errors"])) == (422, [field])


def test_every_item_has_its_own_result(api: Api) -> None:
    LinkFactory.create(company=CompanyFactory.create(), slug="taken", is_alias=True)

    response = bulk(
        api,
        {"url": URL},
        {"url": "javascript:alert(1)"},
        {"url": URL, "alias": "Mine", "expires_in": 60},
        {"url": URL, "alias": "taken"},
        {"url": URL, "alias": "mine"},
        "https://example.com/",
        {"url": "http://127.0.0.1/"},
    )

    data = response.body["data"]
    assert (response.status, response.body["message"]) == (200, "Ссылок создано: 2 из 7")
    assert [row.get("code") for row in data] == [
        None,
        "invalid_input",
        None,
        "alias_taken",
        "alias_taken",
        "invalid_input",
        "url_not_allowed",
    ]
    assert [row["success"] for row in data] == [row.get("code") is None for row in data]
    assert data[2]["short_url"].endswith("/Mine")
    assert data[2]["expires_in"] == 60
    assert list(data[1]["errors"]) == ["url"]
    assert Link.objects.filter(company=api.company).count() == 2


@pytest.mark.parametrize("links", [[], None, "x", {}, [{"url": URL}] * 1001])
def test_bulk_list_is_validated(api: Api, links: object) -> None:
    response = api.post("/links/bulk", {"links": links})

    assert (response.status, list(response.body["errors"])) == (422, ["links"])


def test_bulk_is_repeated_without_a_second_effect(api: Api) -> None:
    key = {"Idempotency-Key": "batch-1"}

    first = bulk(api, {"url": URL}, **key)
    again = bulk(api, {"url": URL}, **key)

    assert first.body == again.body
    assert again.headers["Idempotent-Replayed"] == "true"
    assert Link.objects.count() == 1


def test_slug_collisions_are_retried(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    LinkFactory.create(slug="bcdfghjk")
    drawn = iter(["bcdfghjk", "bcdfghjm", "bcdfghjm"])
    monkeypatch.setattr(
        "links.addresses.slugs.generate", lambda length: next(drawn, generate(length))
    )

    response = bulk(api, {"url": URL}, {"url": URL}, {"url": URL})

    assert [row["success"] for row in response.body["data"]] == [True] * 3
    assert Link.objects.count() == 4


@pytest.mark.django_db(transaction=True)
def test_parallel_batches_with_the_same_aliases_share_them(
    company: Company, client_of: ClientOf
) -> None:
    names = [f"name-{n}" for n in range(30)]
    calls = [
        partial(bulk, client_of(company), *({"url": URL, "alias": alias} for alias in order))
        for order in (names, names[::-1], names, names[::-1])
    ]

    responses = at_once(calls)

    assert [response.status for response in responses] == [200] * 4
    made = [
        row["slug"] for response in responses for row in response.body["data"] if row["success"]
    ]
    assert sorted(made) == sorted(names)
    assert ApiKey.objects.count() == 4
