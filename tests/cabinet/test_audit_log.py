"""The audit log: the text of an event, who may read it, and how it is found."""

from typing import Any, cast

import pytest
from django.http import StreamingHttpResponse
from django.test import Client
from django.urls import reverse

from accounts import key_issuing
from accounts.audit import record
from accounts.models import AuditEvent, Member
from accounts.people import companies, members
from tests.cabinet.settings_page import send
from tests.factories import MemberFactory, UserFactory


def page_of(client: Client, **query: str) -> str:
    return client.get(reverse("audit-list"), query).content.decode()


def values_of(owner: Member) -> Any:
    return owner.company.audit.order_by("-id")[0].changes


def test_change_keeps_old_and_new(client: Client, owner: Member) -> None:
    send(client, "limits", {"cool_down": "90"})

    assert values_of(owner) == {"cool_down": [None, 90]}
    page = page_of(client)
    assert "Пауза, секунд: обычное значение" in page
    assert "<b>90</b>" in page


def test_patience_is_kept_by_channel(client: Client, owner: Member) -> None:
    fields = {"falls_back": "on", "chain_1": "whatsapp", "chain_2": "sms", "patience_sms": "60"}

    send(client, "channels", fields)

    assert values_of(owner) == {
        "falls_back": [False, True],
        "fallback_chain": [[], ["whatsapp", "sms"]],
        "patience_sms": [None, 60],
    }
    page = page_of(client)
    assert "<b>WhatsApp → SMS</b>" in page
    assert "<b>да</b>" in page


def test_role_is_shown_by_its_name(client: Client, owner: Member) -> None:
    colleague = MemberFactory.create(company=owner.company, role="viewer")

    members.change_role(member=colleague, role="developer", user=owner.user)

    assert values_of(owner) == {"role": ["viewer", "developer"]}
    assert "<b>разработчик</b>" in page_of(client)


@pytest.mark.django_db
@pytest.mark.parametrize(("role", "is_shown"), [("owner", True), ("developer", False)])
def test_sums_are_for_roles_that_see_money(client: Client, role: str, *, is_shown: bool) -> None:
    member = MemberFactory.create(role=role)
    client.force_login(member.user)
    of_money = (
        *("payment.recorded", "auto_top_up.on", "balance_alert.added", "method.saved"),
        *("refund.settled", "transfer.assigned", "prices.changed"),
    )
    for action in of_money:
        record(action, "7711.00 RUB", company=member.company, user=None)
    record("budget.changed", "RU", company=member.company, user=None)

    page = page_of(client)
    file = client.get(reverse("audit-export"))

    text = b"".join(cast("StreamingHttpResponse", file)).decode()
    assert ("7\u00a0711" in page, "7711" in text or "7\u00a0711" in text) == (is_shown, is_shown)
    assert len(client.get(reverse("audit-list")).context["events"]) == (9 if is_shown else 2)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ({}, ["settings.changed", "key.created", "member.left"]),
        ({"kind": "keys"}, ["key.created"]),
        ({"kind": "members"}, ["member.left"]),
        ({"section": "limits"}, ["settings.changed"]),
        ({"section": "codes"}, []),
        ({"person": "boris@"}, ["member.left"]),
        ({"person": "b_ris@"}, []),
        ({"date_to": "2020-01-01"}, []),
        ({"date_from": "2020-01-01"}, ["settings.changed", "key.created", "member.left"]),
        (
            {"date_from": "yesterday", "kind": "pets"},
            ["settings.changed", "key.created", "member.left"],
        ),
    ],
    ids=str,
)
def test_audit_events_are_filtered_by_kind_section_person_and_day(
    client: Client, owner: Member, query: dict[str, str], found: list[str]
) -> None:
    company = owner.company
    boris = UserFactory.create(email="boris@example.com")
    companies.change_settings(company=company, user=owner.user, changes={"cool_down": 90})
    key_issuing.create_api_key(company=company, user=owner.user, mode="test", name="x")
    record("member.left", "x", company=company, user=boris)

    page = client.get(reverse("audit-list"), query)

    assert {event.action for event, *_rest in page.context["events"]} == set(found)


def test_file_has_the_filtered_rows(client: Client, owner: Member) -> None:
    companies.change_settings(company=owner.company, user=owner.user, changes={"cool_down": 90})
    record("member.left", "=cmd", company=owner.company, user=owner.user)

    response: Any = client.get(reverse("audit-export"), {"kind": "settings"})
    lines = b"".join(response.streaming_content).decode("utf-8-sig").splitlines()

    assert len(lines) == 2
    assert "Пауза, секунд: обычное значение → 90" in lines[1]
    exported = AuditEvent.objects.latest("id")
    assert (exported.action, exported.subject) == ("audit.exported", "kind")


def test_company_reads_only_its_own_events(client: Client, owner: Member) -> None:
    stranger = MemberFactory.create()
    companies.change_settings(
        company=stranger.company, user=stranger.user, changes={"brand": "Theirs"}
    )

    assert "Theirs" not in page_of(client, section="company")
