"""Which roles see phones whole, on pages, in files and in the search."""

import time
from typing import Any
from urllib.parse import unquote
from uuid import uuid4

import pytest
from django.test import Client
from django.urls import reverse

from accounts.masked_phones import mask_phone
from accounts.models import AuditEvent, Company, Member
from accounts.people import phone_visibility
from catalogue.ids import public_id, request_id, uuid7
from channels.models import Message
from channels.phone_numbers import normalise
from channels.routing import stored_rules
from channels.routing.stored_rules import StoredRule
from otp.models import CodeText, GuardRestriction
from otp.texts import own_texts
from tests.api.clients import Api
from tests.cabinet.pages import addresses, create_content, create_restrictions
from tests.factories import (
    DeliveryFactory,
    EndpointFactory,
    LinkFactory,
    MemberFactory,
    MessageFactory,
)
from tests.sql import execute

OWNER, DEVELOPER, ACCOUNTANT, VIEWER = Member.Role.values
PHONE = "+79161230089"
MASKED = "+7916•••••89"
OTHER_PHONE = "+79161230000"
SPELLINGS = (PHONE, PHONE[1:], PHONE[2:], PHONE[5:], "916 123-00-89", "916%20123-00-89")
TARGET = f"wa.me/{PHONE[1:]}"
TARGETS = (f"https://{TARGET}", f"https://example.com/?p=7-916-123-00-89#{PHONE}")


def enter(client: Client, company: Company, role: str) -> None:
    client.force_login(MemberFactory.create(company=company, role=role).user)


def body_of(response: Any) -> str:
    parts = response.streaming_content if response.streaming else [response.content]
    return b"".join(parts).decode()


@pytest.fixture
def company_with_content(company: Company) -> Company:
    """A company whose messages, codes, links and events all concern one phone."""
    create_content(company)
    company.messages.update(phone=PHONE)
    spelt = f"{TARGET}?tel=%2B{PHONE[1:]}&also=%252B7%2520916%2520123-00-89"
    for link in company.links.all():
        link.url = f"https://{spelt}"
        link.expired_url = TARGETS[0]
        link.utm = f"utm_term={PHONE}"
        link.save()
    execute("UPDATE links_click SET referrer = %s", [f"{PHONE[1:]}.example.com"])
    named = LinkFactory.create(company=company, slug=PHONE[1:], is_alias=True, url=TARGETS[0])
    message = company.messages.filter(mode="live").first()
    assert message is not None
    named_by_phone = {f"of {PHONE}": f"tel:{PHONE}"}
    Message.objects.filter(pk=message.pk).update(
        params={"short_url": named.short_url, "metadata": named_by_phone},
        reference=f"order-{PHONE[1:]}",
    )
    endpoint = company.endpoints.get(disabled_at=None)
    endpoint.url = TARGETS[0]
    endpoint.save()
    for delivery in endpoint.deliveries.all():
        delivery.event.data = {
            "id": "msg_1",
            "phone": PHONE,
            "url": TARGETS[0],
            "short_url": named.short_url,
            "nested": {"list": [f"tel:{PHONE}"]},
        }
        delivery.event.save()
        delivery.attempts.update(response=f'{{"got": "{PHONE}"}}')
    company.policy = [StoredRule("RU", PHONE[1:], ["sms"]).stored()]
    company.save()
    company.code_texts.update(purpose=PHONE)
    company.identity_hooks.update(purpose=PHONE)
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

    assert [
        path for path, body in shown.items() if any(spelling in body for spelling in SPELLINGS)
    ] == []
    masked = [path for path, body in shown.items() if MASKED in body or MASKED[1:] in body]
    assert reverse("message-list") in masked
    assert reverse("message-export") in masked
    assert {reverse("overview"), reverse("link-list"), reverse("link-export")} <= {*masked}


def test_audit_of_rules_and_texts_masks_a_purpose(owner: Member) -> None:
    purpose = f"of {PHONE[1:]}"
    company = owner.company
    rule = StoredRule("RU", purpose, ["sms"])
    stored_rules.save_rule(company=company, rule=rule, instead_of=None, user=owner.user)
    text = CodeText(purpose=purpose, body="{code}")
    own_texts.save(company=company, text=text, user=owner.user)
    own_texts.delete(text=text, user=owner.user)

    subjects = [event.subject for event in AuditEvent.objects.order_by("pk")]

    assert len(subjects) == 3
    assert all("of 79161•••••89" in subject for subject in subjects), subjects


BINDINGS = [
    {"amount": "100.50", "payee": f"Ivan {PHONE}"},
    {"document": "a" * 64, "title": f"Ivan, tel {PHONE[2:]}"},
]


@pytest.mark.parametrize("bind", BINDINGS)
def test_phone_in_binding_is_masked(
    client: Client, company: Company, test_api: Api, bind: dict[str, str]
) -> None:
    sent = test_api.post("/otp/send", {"phone": OTHER_PHONE, "channel": "sms", "bind": bind})
    enter(client, company, VIEWER)

    phone = body_of(client.get(reverse("test-phone")))
    page = body_of(client.get(reverse("message-detail", args=[sent.body["id"]])))

    assert "Ivan" in phone
    assert [spelling for spelling in SPELLINGS if spelling in phone + page] == []


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


@pytest.mark.parametrize(
    ("page", "parameter"),
    [
        ("message-list", "phone"),
        ("message-export", "phone"),
        ("test-phone", "phone"),
        ("search", "q"),
        ("search-suggestions", "q"),
        ("policy", "phone"),
    ],
)
def test_masked_phone_is_not_found_by_trying(
    client: Client, company: Company, monkeypatch: pytest.MonkeyPatch, page: str, parameter: str
) -> None:
    monkeypatch.setattr(phone_visibility, "LOOK_UPS", (2, 60))
    row = MessageFactory.create(company=company, phone=PHONE)
    enter(client, company, VIEWER)
    tried = ["+79161230087", "8 916 123-00-88", "79161230088", PHONE]

    responses = [client.get(reverse(page), {parameter: phone}) for phone in tried]

    shown = [body_of(response) for response in responses]
    text = str(phone_visibility.TOO_MANY_LOOK_UPS)
    member = company.members.get()
    if page not in {"message-list", "message-export", "test-phone"}:  # those find nothing
        assert [text in body for body in shown] == [False, False, False, True]
        assert row.public_id not in shown[-1]
    assert phone_visibility.may_look_up(tried[0], member)
    assert not phone_visibility.may_look_up(PHONE, member)
    enter(client, company, OWNER)
    assert MASKED not in body_of(client.get(reverse(page), {parameter: PHONE}))


@pytest.mark.parametrize(
    ("page", "parameter"),
    [("message-list", "reference"), ("message-export", "reference"), ("search", "q")],
)
def test_reference_with_a_phone_is_not_found_by_trying(
    client: Client, company: Company, monkeypatch: pytest.MonkeyPatch, page: str, parameter: str
) -> None:
    monkeypatch.setattr(phone_visibility, "LOOK_UPS", (1, 60))
    rows = [
        MessageFactory.create(company=company, phone=PHONE, reference=text)
        for text in (f"order-{PHONE[1:]}", "order-7")
    ]
    enter(client, company, VIEWER)
    client.get(reverse(page), {parameter: f"order-{PHONE[1:-1]}8"})

    def found(reference: str) -> list[bool]:
        shown = body_of(client.get(reverse(page), {parameter: reference}))
        return [row.public_id in shown for row in rows]

    assert found(rows[0].reference) == found(f"order-{PHONE[1:-1]}7")
    assert found("order-7") == [False, True]


def test_ranges_show_a_viewer_no_digit_that_a_mask_hides(client: Client, company: Company) -> None:
    """A hundred numbers differ in two digits, which the mask of each shows."""
    create_restrictions(company)
    GuardRestriction.objects.filter(ended_at=None).update(kind="prefix-2", value=PHONE[:-2])
    webhook = DeliveryFactory.create(
        endpoint=EndpointFactory.create(company=company),
        event__company=company,
        event__kind="guard.triggered",
        event__data={"scope": "prefix-2", "value": PHONE[:-2], "step": "refuse"},
    )
    pages = [reverse("protection"), reverse("delivery-detail", args=[webhook.public_id])]
    shown = {}
    for role in (VIEWER, OWNER):
        enter(client, company, role)
        shown[role] = [body_of(client.get(page)) for page in pages]

    assert all(PHONE[:5] + "•" in body for body in shown[VIEWER])
    assert not any(PHONE[:6] in body for body in shown[VIEWER])
    assert all(PHONE[:-2] in body for body in shown[OWNER])


@pytest.mark.parametrize("page", ["link-list", "link-export", "search", "search-suggestions"])
def test_masked_digits_of_targets_are_not_found_one_by_one(
    client: Client, company: Company, page: str
) -> None:
    LinkFactory.create(company=company, url=f"https://{PHONE[1:]}.example.com/")
    parameter = "search" if page.startswith("link") else "q"
    result = {}
    for role in (VIEWER, OWNER):
        enter(client, company, role)
        for text in (f"{PHONE[1:8]}", f"{PHONE[1:]}.exa", "%37", "example.com"):
            response = client.get(reverse(page), {parameter: text})
            result[role, text] = "example.com/" in body_of(response)

    assert result[OWNER, f"{PHONE[1:]}.exa"]
    assert result[VIEWER, "example.com"]
    assert not any(result[VIEWER, text] for text in (PHONE[1:8], f"{PHONE[1:]}.exa", "%37"))


@pytest.mark.parametrize("page", ["link-list", "link-export", "search", "search-suggestions"])
def test_link_named_by_a_phone_is_not_found_by_trying(
    client: Client, company: Company, monkeypatch: pytest.MonkeyPatch, page: str
) -> None:
    monkeypatch.setattr(phone_visibility, "LOOK_UPS", (2, 60))
    target = "https://example.com/of-the-link"
    LinkFactory.create(company=company, slug=PHONE[1:], is_alias=True, url=target)
    parameter = "search" if page.startswith("link") else "q"
    tried = ["79161230087", "https://e.example/79161230087/", "79161230088", PHONE[1:]]
    result = {}
    for role in (VIEWER, OWNER):
        enter(client, company, role)
        responses = [client.get(reverse(page), {parameter: text}) for text in tried]
        result[role] = [target in body_of(response) for response in responses]

    assert result == {VIEWER: [False] * 4, OWNER: [False, False, False, True]}


def test_link_named_by_a_phone_gives_a_viewer_no_picture(client: Client, company: Company) -> None:
    named = LinkFactory.create(company=company, slug=PHONE[1:], is_alias=True)
    enter(client, company, VIEWER)

    pictures = [
        client.get(reverse(f"link-qr-{kind}", args=[named.public_id])) for kind in ("svg", "png")
    ]

    assert [response.status_code for response in pictures] == [403, 403]


@pytest.mark.parametrize(
    "text",
    [
        "https://wa.me/79161230089",
        "https://e.example/?tel=%2B79161230089",
        "https://e.example/?tel=7+916+123+00+89",
        "https://e.example/%37%39%31%36%31%32%33%30%30%38%39",
        "tel:+7(916)123-00-89",
        "7.916.123.00.89",
        "https://e.example/7/916/123/00/89",
        "https://e.example/?t=7%7E916%C2%B7123%E2%80%8B00%5B89%5D",
        "7\u0338916\u20dd123\u2060\ufe0f00\u00ad89",
        "+7 (916) - [123] - 00 - 89",
        "7\u2007916\u2212123\u30fc00\u205389",
        "https://2026/11/28/79161230089",
        "７９１６１２３００８９",
        "٧٩١٦١٢٣٠٠٨٩",
    ],
)
def test_phone_within_a_text_is_masked_however_it_is_spelt(text: str) -> None:
    shown = unquote(phone_visibility.text_for(text, None))

    digits = "".join(str(int(char)) for char in shown if char.isdigit())
    assert "•••••" in shown
    assert "1230089" not in digits


@pytest.mark.parametrize("between", [*" ()[].·/~-", *"\u200b\u0301\u2011\u00a0", "%2F", ") - ["])
def test_phone_in_link_target_is_masked(between: str) -> None:
    typed = between.join(["7", "916", "123", "00", "89"])
    assert normalise(unquote(typed), "RU") == PHONE

    shown = phone_visibility.text_for(f"https://e.example/?tel={typed}", None)

    assert "•••••" in shown
    assert "00" not in shown


@pytest.mark.parametrize(
    "value",
    [
        "tel_79161230089",
        "phone_79161230089",
        "abc_79161230089ab",
        "2026-11-28T79161230089Z",
    ],
)
def test_field_named_like_an_id_hides_no_phone(value: str) -> None:
    assert "1230089" not in phone_visibility.event_for({"url": value}, None)["url"]


def test_ids_and_times_of_an_event_stay() -> None:
    event = {"id": public_id("msg", uuid7()), "at": "2026-11-28T10:11:12.123456Z"}
    event |= {"batch": public_id("bat", uuid4()), "request_id": request_id()}

    assert phone_visibility.event_for(event, None) == event


@pytest.mark.parametrize("text", ["1 ", "12345. ", "7%20", "é7~", "/2026/11/28/", "+()-/", "%25"])
def test_masking_takes_time_in_proportion_to_the_text(text: str) -> None:
    def seconds(size: int) -> float:
        long = (text * size)[:size]
        started = time.process_time()
        phone_visibility.text_for(long, None)
        return time.process_time() - started

    assert seconds(20_000) < max(40 * min(seconds(2_000) for _try in range(3)), 0.2)


@pytest.mark.parametrize(
    "text",
    [
        "https://example.com/orders/77?utm_source=sms&n=1%2B1",
        "https://example.com/%D0%B0",
        "https://example.com/2026/11/28/news-2026-11-27",
        "1234567",
    ],
)
def test_text_without_a_phone_is_unchanged(text: str) -> None:
    assert phone_visibility.text_for(text, None) == text


@pytest.mark.parametrize(
    ("phone", "masked"),
    [
        (PHONE, MASKED),
        ("+6831234", "+68•••••"),
        ("+7916*", "+7916*"),
        ("+998901234567", "+9989•••••67"),
    ],
)
def test_middle_digits_of_a_phone_are_masked(phone: str, masked: str) -> None:
    assert mask_phone(phone) == masked
