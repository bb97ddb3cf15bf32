"""Incidents: which companies read the notice, when, and in which words."""

from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from accounts.models import AuditEvent, Company, User
from catalogue.channels import CHANNELS
from channels.models import ProviderAccount
from channels.vendor_accounts import availability, pauses
from operator_admin.incidents import impact, notices, timeline
from operator_admin.models import Incident
from tests.api.races import at_once
from tests.factories import CompanyFactory, MemberFactory, MessageFactory, UserFactory
from tests.operator_admin.operators import make_operator, sign_in

pytestmark = pytest.mark.django_db
SAID = {"ru": "СМС не доходят", "en": "SMS do not arrive"}


def opened(**fields: object) -> Incident:
    new: dict[str, Any] = {"titles": SAID, "text": SAID, "impact": "outage", **fields}
    return timeline.open_incident(**new, user=UserFactory.create(), ip=None)


def seen_by(company: Company, client: Client) -> bool:
    client.force_login(MemberFactory.create(company=company).user)
    return "СМС не доходят" in client.get(reverse("overview")).content.decode()


def form(**fields: str) -> dict[str, str]:
    text = {"title_ru": "Сбой", "title_en": "Failure", "text_ru": "Ждём", "text_en": "We wait"}
    return {"impact": "outage", "channel": "", "is_public": "on", **text, **fields}


def test_company_reads_the_notice_until_it_is_resolved(client: Client) -> None:
    company = CompanyFactory.create()
    incident = opened()
    assert seen_by(company, client)

    timeline.add_update(
        incident_id=incident.pk, state="resolved", text=None, user=UserFactory.create(), ip=None
    )

    assert not seen_by(company, client)
    incident.refresh_from_db()
    assert incident.resolved_at


def test_notice_is_for_those_that_use_the_channel(client: Client) -> None:
    uses, chosen, other = CompanyFactory.create_batch(3)
    MessageFactory.create(company=uses, channel="sms")
    Company.objects.filter(pk=chosen.pk).update(fallback_chain=["telegram", "sms"])
    MessageFactory.create(company=other, channel="whatsapp")
    opened(channel="sms")

    seen = [seen_by(company, client) for company in (uses, chosen, other)]

    assert seen == [True, True, False]


def test_notice_is_for_companies_of_the_country(client: Client) -> None:
    kazakh = CompanyFactory.create(country="KZ")
    russian = CompanyFactory.create(country="RU")
    opened(country="KZ")

    assert [seen_by(company, client) for company in (kazakh, russian)] == [True, False]


@pytest.mark.parametrize("hours", [(1, 2), (-2, -1)])
def test_notice_is_shown_only_in_its_time(client: Client, hours: tuple[int, int]) -> None:
    start, end = (timezone.now() + timedelta(hours=hour) for hour in hours)
    opened(shown_from=start, shown_until=end)

    assert not seen_by(CompanyFactory.create(), client)


def test_dismissed_notice_comes_back_with_an_update(client: Client) -> None:
    incident = opened()
    member = MemberFactory.create()
    client.force_login(member.user)
    update = incident.updates.get()

    response = client.post(
        reverse("notice-dismiss", args=[incident.pk, update.pk]), {"next": "/cabinet/settings"}
    )

    assert response["Location"] == "/cabinet/settings"
    assert "СМС не доходят" not in client.get(reverse("overview")).content.decode()
    timeline.add_update(
        incident_id=incident.pk, state="identified", text=None, user=member.user, ip=None
    )
    assert "Причина найдена" in client.get(reverse("overview")).content.decode()


@pytest.mark.parametrize("then", ["https://evil.example/", "//evil.example", "javascript:x", ""])
def test_dismissal_leads_nowhere_else(client: Client, then: str) -> None:
    incident = opened()
    client.force_login(MemberFactory.create().user)
    path = reverse("notice-dismiss", args=[incident.pk, incident.updates.get().pk])

    assert client.post(path, {"next": then})["Location"] == reverse("overview")
    assert client.get(path).status_code == 405


def test_dismissal_keeps_no_long_number_in_the_session(client: Client) -> None:
    client.force_login(MemberFactory.create().user)

    client.post(reverse("notice-dismiss", args=[int("9" * 4000), 1]))

    assert len(client.session[notices.SESSION_KEY][0]) < 100


def test_visitor_cannot_dismiss(client: Client) -> None:
    incident = opened()
    path = reverse("notice-dismiss", args=[incident.pk, incident.updates.get().pk])

    assert "/account/login" in client.post(path)["Location"]


def test_pages_without_a_notice_need_no_query(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    company = CompanyFactory.create()

    with django_assert_num_queries(0):
        assert notices.for_company(company, {}) == []  # type: ignore[arg-type]


def test_operators_words_are_escaped(client: Client) -> None:
    text = {"ru": "<script>alert(1)</script>", "en": "<b>x</b>"}
    timeline.open_incident(
        titles=text, text=text, impact="degraded", user=UserFactory.create(), ip=None
    )
    client.force_login(MemberFactory.create().user)

    assert "<script>alert(1)" not in client.get(reverse("overview")).content.decode()


def test_incident_is_opened_in_the_usual_words(client: Client, english_operator: User) -> None:
    path = reverse("admin:incident-new")
    page = client.get(f"{path}?channel=sms&impact=outage")
    initial = page.context["form"].initial

    client.post(path, form(**initial))

    result = Incident.objects.get()
    assert (result.channel, result.impact, result.titles["en"]) == (
        "sms",
        "outage",
        "SMS: messages are not delivered",
    )
    assert result.titles["ru"] == "SMS: сообщения не доставляются"
    assert AuditEvent.objects.filter(action="incident.opened", user=english_operator).exists()


@pytest.mark.parametrize(
    ("field", "text"),
    [
        ("country", "Kazakhstan"),
        ("country", "7"),
        ("channel", "fax"),
        ("title_en", ""),
        ("text_ru", "x" * 601),
        ("shown_until", "2020-01-01T10:00"),
        ("impact", "none"),
    ],
)
def test_incident_with_a_mistake_is_not_opened(
    client: Client, english_operator: User, field: str, text: str
) -> None:
    response = client.post(reverse("admin:incident-new"), form(**{field: text}))

    assert response.status_code == 200
    assert field in response.context["form"].errors
    assert not Incident.objects.exists()


def test_update_needs_both_languages_or_neither(client: Client, english_operator: User) -> None:
    incident = opened()
    path = reverse("admin:incident", args=[incident.pk])

    refused = client.post(path, {"state": "monitoring", "text_ru": "Смотрим", "text_en": ""})
    client.post(path, {"state": "monitoring", "text_ru": "", "text_en": ""})

    assert "text_en" in refused.context["form"].errors
    assert incident.updates.count() == 2
    assert incident.updates.get(state="monitoring").texts == timeline.later_text("monitoring")


@pytest.mark.django_db(transaction=True)
def test_two_operators_resolve_it_once() -> None:
    incident = opened()
    users = UserFactory.create_batch(2)

    def resolve(user: User) -> Incident | None:
        return timeline.add_update(
            incident_id=incident.pk, state="resolved", text=None, user=user, ip=None
        )

    results = at_once([partial(resolve, user) for user in users])

    assert sorted(result is None for result in results) == [False, True]
    assert incident.updates.filter(state="resolved").count() == 1


def test_operator_without_the_right_only_reads(client: Client) -> None:
    user = make_operator()
    User.objects.filter(pk=user.pk).update(is_superuser=False)
    user.user_permissions.add(Permission.objects.get(codename="view_incident"))
    sign_in(client, user, "password", "mfa")
    pk = opened().pk

    assert client.get(reverse("admin:incidents")).status_code == 200
    assert client.get(reverse("admin:incident-new")).status_code == 403
    assert client.post(reverse("admin:incident-resolve", args=[pk])).status_code == 403
    assert (
        client.post(reverse("admin:incident", args=[pk]), {"state": "resolved"}).status_code == 403
    )
    assert (
        client.post(reverse("admin:channel-pause", args=["sms"]), {"reason": "x"}).status_code
        == 403
    )
    assert Incident.objects.open().count() == 1


def test_channel_is_paused_and_resumed_with_its_own_accounts(
    client: Client, english_operator: User
) -> None:
    pauses.ensure_rows()
    ProviderAccount.objects.filter(name="telegram_bot").update(is_enabled=False)

    for reason in ("", "Telegram is down"):
        client.post(reverse("admin:channel-pause", args=["telegram"]), {"reason": reason})
    paused = set(ProviderAccount.objects.filter(is_enabled=False).values_list("name", flat=True))
    availability.refresh()
    client.post(reverse("admin:channel-resume", args=["telegram"]))

    assert paused == {"telegram_gateway", "telegram_bot"}
    assert list(
        ProviderAccount.objects.filter(is_enabled=False).values_list("name", flat=True)
    ) == ["telegram_bot"]
    assert list(AuditEvent.objects.order_by("id").values_list("action", "subject")) == [
        ("channel.paused", "telegram: Telegram is down"),
        ("channel.resumed", "telegram"),
    ]


def test_account_paused_alone_is_not_resumed_with_its_channel(english_operator: User) -> None:
    channel = CHANNELS[0]
    (name, *_others) = pauses.accounts_of(channel.name)
    pauses.pause_account(name=name, reason="x", user=english_operator, ip=None)

    pauses.pause_channel(channel=channel, reason="y", user=english_operator, ip=None)
    pauses.resume_channel(channel=channel, user=english_operator, ip=None)

    assert not ProviderAccount.objects.get(name=name).is_enabled


def test_channels_page_counts_affected_companies(client: Client, english_operator: User) -> None:
    hit = CompanyFactory.create(name="Hit")
    other = CompanyFactory.create(name="Other")
    soon = timezone.now() + timedelta(seconds=40)
    MessageFactory.create(company=hit, channel="sms", useful_until=soon)
    MessageFactory.create(company=hit, channel="sms", chain=[{"channel": "whatsapp"}])
    MessageFactory.create(company=other, channel="sms", state="delivered")
    MessageFactory.create(company=other, channel="sms", mode="test")
    pauses.ensure_rows()

    (sms,) = [state.waiting for state in impact.channel_states() if state.channel.name == "sms"]

    assert (sms.waiting, sms.expiring, sms.with_fallback, sms.companies) == (2, 1, 1, 1)
    assert (sms.under_30s, sms.older) == (2, 0)
    result = {
        company.name: (company.waiting, company.sends, company.delivered)
        for company in impact.affected_companies("sms", 0)
    }
    assert result == {"Hit": (2, 2, 0), "Other": (0, 1, 1)}
    page = client.get(reverse("admin:channel", args=["sms"])).content.decode()
    assert "Hit" in page
    assert client.get(reverse("admin:channel", args=["fax"])).status_code == 404


def test_incident_list_is_paged_without_a_query_per_row(
    client: Client, english_operator: User
) -> None:
    def ask() -> int:
        with CaptureQueriesContext(connection) as asked:
            client.get(reverse("admin:incidents"))
        return len(asked)

    client.get(reverse("admin:incidents"))
    opened()
    queries = ask()
    for _n in range(25):
        timeline.add_update(
            incident_id=opened().pk, state="resolved", text=None, user=english_operator, ip=None
        )
    assert ask() == queries
    assert "?page=1" in client.get(reverse("admin:incidents")).content.decode()
