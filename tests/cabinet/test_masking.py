"""Which roles see full phone numbers, on every page and in every export."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Company, Member
from accounts.people import phone_masking
from channels.models import Message
from otp.models import Verification
from tests.api.clients import ClientOf
from tests.cabinet.pages import addresses, create_content
from tests.factories import MemberFactory, MessageFactory

OWNER, DEVELOPER, ACCOUNTANT, VIEWER = Member.Role.values
PHONE, MASKED = "+79161230089", "+7916•••••89"
SPELLINGS = (PHONE, PHONE[1:], PHONE[2:], PHONE[5:], "916 123-00-89")


def enter(client: Client, company: Company, role: str) -> None:
    client.force_login(MemberFactory.create(company=company, role=role).user)


def body_of(response: Any) -> str:
    parts = response.streaming_content if response.streaming else [response.content]
    return b"".join(parts).decode()


@pytest.fixture
def company_with_content(company: Company) -> Company:
    """Whose messages, codes and events all concern one phone."""
    create_content(company)
    company.messages.update(phone=PHONE)
    endpoint = company.endpoints.get(disabled_at=None)
    for delivery in endpoint.deliveries.all():
        delivery.event.data = {"id": "msg_1", "phone": PHONE}
        delivery.event.save()
        delivery.attempts.update(answer=f'{{"got": "{PHONE}"}}')
    return company


def pages(company: Company) -> list[str]:
    return [
        *addresses(company),
        reverse("message-export"),
        reverse("link-export"),
        f"{reverse('message-list')}?mode=test",
        f"{reverse('message-export')}?mode=test",
    ]


@pytest.mark.parametrize("role", [ACCOUNTANT, VIEWER])
def test_no_page_or_file_shows_an_unmasked_phone(
    client: Client, company_with_content: Company, role: str
) -> None:
    enter(client, company_with_content, role)

    shown = {path: body_of(client.get(path)) for path in pages(company_with_content)}

    assert [path for path, body in shown.items() if any(one in body for one in SPELLINGS)] == []
    masked = [path for path, body in shown.items() if MASKED in body or MASKED[1:] in body]
    assert reverse("message-list") in masked
    assert reverse("message-export") in masked
    assert reverse("overview") in masked


@pytest.mark.parametrize("role", [OWNER, DEVELOPER])
def test_developers_and_owners_see_phones(
    client: Client, company_with_content: Company, role: str
) -> None:
    enter(client, company_with_content, role)

    shown = {path: body_of(client.get(path)) for path in pages(company_with_content)}

    whole = {path for path, body in shown.items() if PHONE in body or PHONE[1:] in body}
    assert {reverse("message-list"), reverse("message-export"), reverse("overview")} <= whole
    assert reverse("test-phone") in whole
    assert not any("•••••" in body for body in shown.values())


@pytest.mark.parametrize("role", [ACCOUNTANT, VIEWER])
def test_masked_phone_is_not_found_by_its_beginning(
    client: Client, company: Company, role: str
) -> None:
    mine = MessageFactory.create(company=company, phone=PHONE)
    MessageFactory.create(company=company, phone="+79161230090")
    enter(client, company, role)

    beginning = client.get(reverse("message-list"), {"phone": "791612300"})
    whole = client.get(reverse("message-list"), {"phone": "8 916 123-00-89"})

    assert "в вашей роли номера скрыты" in body_of(beginning)
    assert [row.pk for row in whole.context["page"].rows] == [mine.pk]


def test_developer_finds_a_phone_by_its_beginning(client: Client, company: Company) -> None:
    MessageFactory.create(company=company, phone=PHONE)
    enter(client, company, DEVELOPER)

    found = client.get(reverse("message-list"), {"phone": "791612300"})

    assert len(found.context["page"].rows) == 1


def test_api_shows_phones_to_keys(company_with_content: Company, client_of: ClientOf) -> None:
    rows = client_of(company_with_content).get("/messages").body["data"]

    assert {row["phone"] for row in rows} == {PHONE}
    assert Message.objects.filter(phone=PHONE).exists()
    assert not Verification.objects.exists()


@pytest.mark.parametrize(
    ("phone", "masked"),
    [
        (PHONE, MASKED),
        ("+6831234", "+68•••••"),
        ("+7916*", "+7916*"),
        ("+998901234567", "+9989•••••67"),
    ],
)
def test_mask(phone: str, masked: str) -> None:
    assert phone_masking.mask_phone(phone) == masked
