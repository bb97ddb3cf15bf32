"""The cabinet's message list: filters and pagination."""

from datetime import datetime, timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from accounts.models import Member
from api import pagination
from channels.models import Message
from tests.api.clients import Api
from tests.factories import ApiKeyFactory, MessageFactory, TransferFactory

PAGE_SIZE = 50


def shown(client: Client, **query: str) -> list[str]:
    response = client.get(reverse("message-list"), query)
    return [message.phone for message in response.context["page"].rows]


def test_pages_follow_one_another_without_gaps(client: Client, owner: Member) -> None:
    MessageFactory.create_batch(2 * PAGE_SIZE + 3, company=owner.company)
    Message.objects.update(created_at=timezone.now())  # equal times: the id breaks the tie
    seen = list[str]()
    cursor = ""
    lengths = list[int]()

    while True:
        page = client.get(reverse("message-list"), {"cursor": cursor}).context["page"]
        seen += [message.public_id for message in page.rows]
        lengths.append(len(page.rows))
        cursor = page.next_cursor
        if not cursor:
            break

    assert lengths == [PAGE_SIZE, PAGE_SIZE, 3]
    assert len(set(seen)) == 2 * PAGE_SIZE + 3


@pytest.mark.parametrize("cursor", ["junk", "MjAyNg"])
def test_foreign_cursor_shows_first_page(client: Client, owner: Member, cursor: str) -> None:
    message = MessageFactory.create(company=owner.company)

    assert shown(client, cursor=cursor) == [message.phone]


def test_list_shows_live_and_test_messages_apart(client: Client, owner: Member) -> None:
    MessageFactory.create(company=owner.company, phone="+79990000001")
    MessageFactory.create(company=owner.company, phone="+79990000002", mode="test")

    assert shown(client) == ["+79990000001"]
    assert shown(client, mode="test") == ["+79990000002"]
    assert shown(client, mode="junk") == ["+79990000001"]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"channel": "sms"}, ["+77010000002"]),
        ({"state": "failed"}, ["+77010000002"]),
        ({"kind": "link"}, ["+79160000001"]),
        ({"door": "twilio"}, ["+77010000002"]),
        ({"door": "supabase"}, []),
        ({"phone": "+7 916 000-00-01"}, ["+79160000001"]),
        ({"phone": "916 000-00-01"}, ["+79160000001"]),
        ({"phone": "007916000"}, ["+79160000001"]),
        ({"phone": "916000"}, ["+79160000001"]),
        ({"phone": "(916)"}, ["+79160000001"]),
        ({"phone": "+916000"}, []),
        ({"phone": "7701"}, ["+77010000002"]),
        ({"phone": "0002"}, ["+77010000002"]),
        ({"phone": "01"}, []),
        ({"phone": "+81"}, []),
        ({"phone": "call me"}, ["+77010000002", "+79160000001"]),
        ({"channel": "pigeon", "kind": "link"}, ["+79160000001"]),
    ],
    ids=str,
)
def test_cabinet_list_shows_messages_that_match_the_filters(
    client: Client, owner: Member, query: dict[str, str], expected: list[str]
) -> None:
    MessageFactory.create(company=owner.company, phone="+79160000001", kind="link")
    MessageFactory.create(
        company=owner.company,
        phone="+77010000002",
        channel="sms",
        state="failed",
        params={"door": "twilio"},
    )

    assert shown(client, **query) == expected


def test_list_names_the_source(client: Client, owner: Member) -> None:
    MessageFactory.create(company=owner.company, params={"door": "twilio"})
    MessageFactory.create(company=owner.company, params={"door": "authentik"})

    page = client.get(reverse("message-list")).content.decode()

    assert [page.count(f'"cell-note">{title}<') for title in ("Twilio Verify", "authentik")] == [
        1,
        1,
    ]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"date_from": "2026-05-02"}, [3, 2]),
        ({"date_to": "2026-05-02"}, [2, 1]),
        ({"date_from": "2026-05-02", "date_to": "2026-05-02"}, [2]),
        ({"date_from": "yesterday"}, [3, 2, 1]),
    ],
    ids=str,
)
def test_days_are_days_of_the_cabinet(
    client: Client, owner: Member, query: dict[str, str], expected: list[int]
) -> None:
    for day in (1, 2, 3):
        at = timezone.make_aware(datetime(2026, 5, day)) + timedelta(minutes=30)  # noqa: DTZ001
        MessageFactory.create(company=owner.company, phone=f"+7916000000{day}", created_at=at)

    assert [int(phone[-1]) for phone in shown(client, **query)] == expected


def test_messages_of_others_are_not_shown(client: Client, owner: Member) -> None:
    MessageFactory.create()

    assert shown(client) == []


def test_charge_column_shows_captured_amount(client: Client, owner: Member) -> None:
    paid, free = MessageFactory.create_batch(2, company=owner.company, price=16, state="delivered")
    TransferFactory.create(
        company=owner.company, kind="capture", proof="receipt", message_id=paid.id, amount=16
    )

    rows = client.get(reverse("message-list")).context["page"].rows

    assert {row.id: row.charged for row in rows} == {paid.id: 16, free.id: None}


@pytest.mark.parametrize("rows", [1, 3])
def test_overview_query_count_is_constant(
    client: Client, owner: Member, rows: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    ApiKeyFactory.create_batch(rows, company=owner.company)
    MessageFactory.create_batch(rows, company=owner.company)

    # session, user, memberships; watermark, messages, twice totals with codes and tokens; balance,
    # recent of both modes; keys, any message, any code entered: total, watermark, live, test; of
    # the breakdown the watermark, counted days, today, its tokens, days to be counted.
    with django_assert_num_queries(31):
        client.get(reverse("overview"))


def search(client: Client, **query: str) -> tuple[int, str]:
    """(messages on the page, cursor of the next one)."""
    page = client.get(reverse("message-list"), query).context["page"]
    return len(page.rows), page.next_cursor or ""


def test_search_for_rare_messages_runs_in_parts(
    client: Client, owner: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pagination, "SCANS", (1, 4))
    rare = MessageFactory.create(company=owner.company, kind="link")
    MessageFactory.create_batch(5, company=owner.company)
    first = client.get(reverse("message-list"), {"kind": "link"})
    cursor = first.context["page"].next_cursor

    second = client.get(reverse("message-list"), {"kind": "link", "cursor": cursor})

    assert (first.context["page"].rows, bool(cursor)) == ([], True)
    assert "Искать дальше" in first.content.decode()
    assert (second.context["page"].rows, second.context["page"].scanned_until) == ([rare], None)


def test_search_in_parts_misses_nothing(
    client: Client, owner: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pagination, "SCANS", (1, 3))
    for n in range(20):
        MessageFactory.create(company=owner.company, kind="link" if n % 4 == 0 else "code")
    Message.objects.update(created_at=timezone.now())  # equal times: the id parts them
    seen = 0
    cursor = ""
    pages = 0

    while pages == 0 or cursor:
        rows, cursor = search(client, kind="link", cursor=cursor)
        seen += rows
        pages += 1

    assert seen == 5
    assert pages > 2


def test_undelivered_and_whole_numbers_are_found_at_once(
    client: Client, owner: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pagination, "SCANS", (2, 2))
    MessageFactory.create(company=owner.company, phone="+79160000001", state="failed")
    MessageFactory.create_batch(3, company=owner.company)

    assert search(client, state="failed") == (1, "")
    assert search(client, phone="+79160000001") == (1, "")


def test_message_is_found_by_its_id_in_either_mode(client: Client, owner: Member) -> None:
    message = MessageFactory.create(company=owner.company, mode="test")
    MessageFactory.create(company=owner.company)
    stranger = MessageFactory.create()

    assert shown(client, id=f" {message.public_id} ") == [message.phone]
    assert shown(client, id=stranger.public_id) == []


def test_message_is_found_by_the_id_of_its_request(
    client: Client, owner: Member, test_api: Api
) -> None:
    response = test_api.post("/otp/send", {"phone": "+79161234567"})
    test_api.post("/otp/send", {"phone": "+79161234568"})

    assert shown(client, id=response.headers["X-Request-Id"]) == ["+79161234567"]


@pytest.mark.parametrize("text", ["junk", "msg_1", "req_1", "req_" + "f" * 22, "req_" + "z" * 22])
def test_malformed_id_is_answered_with_what_to_type(
    client: Client, owner: Member, text: str
) -> None:
    MessageFactory.create(company=owner.company)

    response = client.get(reverse("message-list"), {"id": text})

    assert response.status_code == 200
    assert "Укажите номер целиком" in response.content.decode()


def test_messages_are_filtered_by_key(client: Client, owner: Member) -> None:
    key = ApiKeyFactory.create(company=owner.company)
    theirs = ApiKeyFactory.create()
    mine = MessageFactory.create(company=owner.company, api_key=key)
    other = MessageFactory.create(company=owner.company)

    assert shown(client, api_key=str(key.pk)) == [mine.phone]
    assert set(shown(client, api_key=str(theirs.pk))) == {mine.phone, other.phone}  # no such choice
