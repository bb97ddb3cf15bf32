"""The admin's pages of reported links."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.db.models import Model
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import AuditEvent, Company, User
from catalogue.ids import public_id, uuid7
from links.follow import resolution
from links.follow.cached_row import GONE, LinkTarget
from links.manage import stopping
from links.models import Link, Report, Stop
from tests.factories import LinkFactory
from tests.operator_admin.operators import make_operator, sign_in

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("operator")]


def page(model: type[Model]) -> str:
    meta = model._meta
    return reverse(f"admin:{meta.app_label}_{meta.model_name}_changelist")


def act(client: Client, action: str, *rows: Model) -> None:
    response = client.post(
        page(type(rows[0])), {"action": action, "_selected_action": [row.pk for row in rows]}
    )
    assert response.status_code == 302


def report(**fields: Any) -> Report:
    link = fields.pop("link", None) or LinkFactory.create()
    return Report.objects.create(link=link, reason="phishing", **fields)


def test_pending_reports_come_first(client: Client) -> None:
    now = timezone.now()
    handled = report(handled_at=now)
    old = report()
    new = report()
    Report.objects.filter(pk=old.pk).update(reported_at=now - timedelta(days=1))

    rows = client.get(page(Report)).context["cl"].result_list
    waiting = client.get(page(Report), {"waiting": "yes"}).context["cl"].result_list

    assert list(rows) == [new, old, handled]
    assert list(waiting) == [new, old]


def test_today_counts_pending_reports(client: Client) -> None:
    one = report()
    _ = report()

    def counted() -> list[str]:
        today = client.get(reverse("admin:index")).content.decode()
        return re.findall(rf"{page(Report)}\?waiting=yes.*?<strong>(\d+)", today, re.DOTALL)

    before = counted()
    act(client, "handle", one)

    assert (before, counted()) == (["2"], ["1"])


def test_link_reported_is_disabled_and_recorded(client: Client, operator: User) -> None:
    link = LinkFactory.create()
    first, second = report(link=link), report(link=link)
    assert isinstance(resolution.resolve(link.slug), LinkTarget)

    act(client, "disable_links", first, second)

    assert resolution.resolve(link.slug) is GONE
    assert not Report.objects.filter(handled_at=None).exists()
    events = AuditEvent.objects.values_list("action", "user", "company")
    assert list(events) == [("link.disabled", operator.pk, link.company_id)]


def test_retired_link_is_left_alone(client: Client) -> None:
    link = LinkFactory.create(retired_at=timezone.now())

    act(client, "disable_links", report(link=link))

    assert Link.objects.get(pk=link.pk).disabled_at is None


def test_links_of_companies_are_stopped_and_released_from_their_list(
    client: Client, operator: User
) -> None:
    link = LinkFactory.create()
    other = LinkFactory.create()

    act(client, "stop_links", link.company)
    stopped = [resolution.resolve(stored.slug) for stored in (link, other)]
    act(client, "release_links", link.company)

    assert (stopped[0], type(stopped[1])) == (GONE, LinkTarget)
    assert isinstance(resolution.resolve(link.slug), LinkTarget)
    events = AuditEvent.objects.order_by("id").values_list("action", "user")
    assert list(events) == [("links.stopped", operator.pk), ("links.released", operator.pk)]


@pytest.mark.parametrize(
    ("action", "expected"),
    [("stop_batches", ["NoTarget", "LinkTarget"]), ("stop_companies", ["NoTarget"] * 2)],
)
def test_links_are_stopped_with_their_batch_or_company(
    client: Client, action: str, expected: list[str]
) -> None:
    link = LinkFactory.create(batch_id=uuid7())
    other = LinkFactory.create(company=link.company)

    act(client, action, link)

    assert [type(resolution.resolve(stored.slug)).__name__ for stored in (link, other)] == expected


def test_stops_are_listed_and_released(client: Client) -> None:
    link = LinkFactory.create(batch_id=uuid7())
    stopping.stop(company=link.company, batch_id=link.batch_id)
    stop = Stop.objects.get()

    listed = client.get(page(Stop)).content.decode()
    act(client, "release", stop)

    assert link.batch_id
    assert public_id("bat", link.batch_id) in listed
    assert not Stop.objects.exists()
    assert isinstance(resolution.resolve(link.slug), LinkTarget)


def test_company_leads_to_its_links(client: Client) -> None:
    link = LinkFactory.create()
    _ = LinkFactory.create()
    company = reverse("admin:accounts_company_change", args=[link.company_id])
    address = f"{page(Link)}?company__id__exact={link.company_id}"

    assert address in client.get(company).content.decode()
    assert list(client.get(address).context["cl"].result_list) == [link]


@pytest.mark.parametrize("model", [Report, Stop, Link, Company])
def test_viewer_is_offered_no_actions(client: Client, model: type[Model]) -> None:
    looker = make_operator()
    User.objects.filter(pk=looker.pk).update(is_superuser=False)
    sign_in(client, User.objects.get(pk=looker.pk), "password", "mfa")
    link = LinkFactory.create()
    stopping.stop(company=link.company)
    report(link=link)

    row = model._default_manager.first()
    assert row is not None
    for action in ("release", "handle", "disable_links", "stop_companies", "stop_links"):
        client.post(page(model), {"action": action, "_selected_action": [row.pk]})

    assert (Stop.objects.count(), Report.objects.filter(handled_at=None).count()) == (1, 1)
