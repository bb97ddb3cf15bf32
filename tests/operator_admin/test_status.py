"""The public status page: real figures, nothing of one company, no login, no store but one."""

from datetime import date, timedelta
from xml.etree import ElementTree as ET

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries, Settings

from accounts.models import Company
from channels.models import CountedDay, DayCount, Heartbeat, ProviderAccount
from channels.vendor_accounts import pauses
from links.addresses import reserved_names
from operator_admin.incidents import timeline
from operator_admin.models import Alert, StatusDay
from operator_admin.status import summary
from tests.factories import CompanyFactory, UserFactory

pytestmark = pytest.mark.django_db


def yesterday() -> date:
    return timezone.localdate() - timedelta(days=1)


def count(
    company: Company,
    *,
    channel: str = "sms",
    n: int = 10,
    state: str = "delivered",
    pace: int = 1000,
    day: date | None = None,
) -> None:
    DayCount.objects.create(
        company=company,
        mode="live",
        day=day or yesterday(),
        channel=channel,
        kind="code",
        state=state,
        pace=pace if state == "delivered" else 0,
        messages=n,
    )


def counted(day: date | None = None) -> StatusDay:
    CountedDay.objects.get_or_create(day=day or yesterday())
    summary.count_days()
    return StatusDay.objects.get(component="sms", day=day or yesterday())


def part(client: Client, name: str = "sms") -> dict[str, object]:
    summary.reset()
    parts = client.get(reverse("status-json")).json()["components"]
    return next(part for part in parts if part["name"] == name)


def test_day_sums_all_companies() -> None:
    for company, pace in zip(CompanyFactory.create_batch(3), (100, 200, 9000), strict=True):
        count(company, n=10, pace=pace)
        count(company, n=5, state="failed")

    row = counted()

    assert (row.total, row.good, row.companies, row.largest) == (45, 30, 3, 15)
    assert row.median_ms == 200


def test_median_is_weighted_by_messages() -> None:
    company = CompanyFactory.create()
    count(company, n=1, pace=100)
    count(company, n=9, pace=5000)

    assert counted().median_ms == 5000


def test_day_without_messages_is_counted_once() -> None:
    CountedDay.objects.create(day=yesterday())

    assert (summary.count_days(), summary.count_days()) == (1, 0)


def test_late_receipts_change_a_day_of_the_last_three() -> None:
    company = CompanyFactory.create()
    count(company, n=10)
    counted()
    count(company, n=7, state="failed")
    StatusDay.objects.update(counted_at=timezone.now() - timedelta(hours=7))

    assert counted().total == 17


@pytest.mark.parametrize(
    ("companies", "of_each", "shown"), [(3, 10, True), (2, 100, False), (3, 5, False)]
)
def test_figures_need_enough_companies_and_messages(
    client: Client, settings: Settings, companies: int, of_each: int, shown: bool
) -> None:
    settings.STATUS_MIN_COMPANIES = 3
    for company in CompanyFactory.create_batch(companies):
        count(company, n=of_each)
    counted()

    result = part(client)["days"][-2]  # type: ignore[index]

    assert (result["share"] is not None) is shown


def test_figures_that_one_company_dominates_are_left_out(
    client: Client, settings: Settings
) -> None:
    settings.STATUS_MIN_COMPANIES = 3
    for company, n in zip(CompanyFactory.create_batch(3), (1000, 3, 3), strict=True):
        count(company, n=n)
    counted()

    assert part(client)["days"][-2]["share"] is None  # type: ignore[index]


def test_day_far_below_the_usual_share_is_marked(client: Client, settings: Settings) -> None:
    settings.STATUS_MIN_COMPANIES = 1
    company = CompanyFactory.create()
    for ago in range(1, 6):
        day = timezone.localdate() - timedelta(days=ago)
        count(company, n=90 if ago > 1 else 60, day=day)
        count(company, n=10 if ago > 1 else 40, state="failed", day=day)
        counted(day)

    levels = [day["status"] for day in part(client)["days"][-4:-1]]  # type: ignore[index]

    assert levels == ["operational", "operational", "outage"]


def test_channel_without_available_accounts_is_out(client: Client) -> None:
    pauses.ensure_rows()
    assert part(client)["status"] == "operational"

    names = pauses.accounts_of("sms")
    ProviderAccount.objects.filter(name__in=names).update(is_enabled=False)

    assert part(client)["status"] == "outage"


def test_falling_deliveries_degrade_only_their_channel(client: Client) -> None:
    now = timezone.now()
    Alert.objects.create(
        rule="delivery-falls",
        subject="sms",
        began_at=now,
        due_at=now,
        notices=1,
        details={"delivered": 1, "final": 9},
    )

    assert part(client)["status"] == "degraded"
    assert part(client, "whatsapp")["status"] == "operational"


def test_api_is_measured_minute_by_minute() -> None:
    summary.measure_api()
    summary.measure_api()
    row = StatusDay.objects.get(component="api")
    assert (row.total, row.good) == (1, 0)

    Heartbeat.objects.create(process="web-1", kind="web", at=timezone.now(), details={})
    StatusDay.objects.update(counted_at=timezone.now() - timedelta(minutes=2))
    summary.measure_api()

    row.refresh_from_db()
    assert (row.total, row.good) == (2, 1)


@pytest.mark.parametrize(("accept", "word"), [("ru", "Всё работает"), ("en", "Everything works")])
def test_page_is_open_to_all_in_both_languages(client: Client, accept: str, word: str) -> None:
    response = client.get("/status", headers={"Accept-Language": accept})

    assert response.status_code == 200
    assert word in response.content.decode()


def test_cached_page_needs_no_query(
    client: Client, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    client.get("/status")

    with django_assert_num_queries(0):
        for path in ("/status", "/status.json", "/status.atom"):
            assert client.get(path).status_code == 200


@pytest.mark.usefixtures("no_redis")
def test_page_answers_without_redis(client: Client) -> None:
    assert client.get("/status").status_code == 200


def test_public_incidents_alone_are_shown(client: Client) -> None:
    user = UserFactory.create()
    for title, is_public in (("Seen", True), ("Hidden", False)):
        words = {"ru": title, "en": title}
        timeline.open_incident(
            titles=words, text=words, impact="degraded", is_public=is_public, user=user, ip=None
        )
    summary.reset()

    for path in ("/status", "/status.json", "/status.atom"):
        text = client.get(path).content.decode()
        assert "Seen" in text, path
        assert "Hidden" not in text, path
    assert client.get("/status.json").json()["status"] == "degraded"


def test_planned_maintenance_does_not_mark_the_present(client: Client) -> None:
    text = {"ru": "Работы", "en": "Work"}
    soon = timezone.now() + timedelta(hours=3)
    timeline.open_incident(
        titles=text,
        text=text,
        impact="maintenance",
        shown_from=soon,
        user=UserFactory.create(),
        ip=None,
    )
    summary.reset()

    body = client.get("/status.json").json()

    assert (body["status"], len(body["planned"]), body["incidents"]) == ("operational", 1, [])


def test_feed_is_well_formed(client: Client) -> None:
    text = {"ru": "Сбой & <b>", "en": "Failure & <b>"}
    timeline.open_incident(
        titles=text, text=text, impact="outage", user=UserFactory.create(), ip=None
    )
    summary.reset()

    response = client.get("/status.atom")

    feed = ET.fromstring(response.content)  # noqa: S314 - our own
    assert response["Content-Type"].startswith("application/atom+xml")
    assert len(feed.findall("{http://www.w3.org/2005/Atom}entry")) == 1


@pytest.mark.parametrize("method", ["post", "put", "delete"])
def test_page_refuses_other_methods(client: Client, method: str) -> None:
    assert getattr(client, method)("/status.json").status_code == 405


@pytest.mark.parametrize("name", ["status", "status.json", "status.atom", "Status"])
def test_status_page_address_is_reserved(name: str) -> None:
    assert reserved_names.is_reserved(name) or reserved_names.is_reserved_alias(name)
