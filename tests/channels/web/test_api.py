"""GET /messages: filters, pagination, and the details of one message."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from catalogue.channels import CHANNELS
from channels.history.messages import EXACT_FILTERS
from channels.models import Message
from channels.web.calls import FILTERS as DECLARED
from channels.web.forms import HistoryFilter
from tests.api.clients import Api, ClientOf
from tests.factories import AttemptFactory, CompanyFactory, MessageFactory, ReceiptFactory

PHONE = "+79161234567"
NOON = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def create_message(api: Api, at: datetime = NOON, **fields: Any) -> Message:
    message: Message = MessageFactory.create(company=api.company, created_at=at, **fields)
    message.refresh_from_db()
    return message


def ids(response: Any) -> list[str]:
    return [row["id"] for row in response.body["data"]]


def utc(moment: datetime | None) -> str:
    assert moment is not None
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def test_history_shows_every_field_of_a_message(api: Api) -> None:
    message = create_message(
        api,
        phone=PHONE,
        channel="sms",
        price=16,
        segments=2,
        state="delivered",
        params={"short_url": "https://kv.example/abc", "brand": "Ромашка", "door": "supabase"},
        locale="de-AT",
        request_id="req_1",
        sent_at=NOON + timedelta(seconds=1),
        delivered_at=NOON + timedelta(seconds=2),
        finished_at=NOON + timedelta(seconds=2),
    )

    assert api.get("/messages").body["data"] == [
        {
            "id": message.public_id,
            "kind": "code",
            "phone": PHONE,
            "channel": "sms",
            "status": "delivered",
            "error": None,
            "cost": 16,
            "segments": 2,
            "short_url": "https://kv.example/abc",
            "locale": "de-AT",
            "door": "supabase",
            "reference": None,
            "metadata": None,
            "test": False,
            "request_id": "req_1",
            "created_at": "2026-03-01T12:00:00Z",
            "sent_at": "2026-03-01T12:00:01Z",
            "delivered_at": "2026-03-01T12:00:02Z",
            "read_at": None,
            "finished_at": "2026-03-01T12:00:02Z",
        }
    ]


def test_message_that_was_just_sent_is_there(api: Api) -> None:
    sent = api.post("/otp/send", {"phone": PHONE})

    (row,) = api.get("/messages").body["data"]

    assert (row["id"], row["request_id"]) == (sent.body["id"], sent.headers["X-Request-Id"])
    assert (row["status"], row["segments"], row["sent_at"]) == ("queued", None, None)


FILTERS = [
    ({}, "abcd"),
    ({"phone": PHONE}, "ab"),
    ({"phone": "8 (916) 123-45-67"}, "ab"),
    ({"channel": "sms"}, "bc"),
    ({"status": "failed"}, "c"),
    ({"kind": "link"}, "d"),
    ({"kind": "code", "channel": "sms", "phone": PHONE}, "b"),
    ({"from": "2026-03-01T12:00:00Z"}, "abc"),
    ({"from": "2026-03-01T15:00:00+03:00"}, "abc"),
    ({"from": "2026-03-01T12:00:00"}, "abc"),
    ({"to": "2026-03-01T12:00:00Z"}, "d"),
    ({"from": "2026-03-01", "to": "2026-03-02"}, "abc"),
    ({"from": "2026-03-01T12:00:00.5Z"}, "ab"),
    ({"phone": "", "channel": "", "status": "", "kind": "", "from": "", "to": ""}, "abcd"),
]


@pytest.mark.parametrize(("query", "expected"), FILTERS)
def test_listed_messages_match_the_query_filters(
    api: Api, query: dict[str, str], expected: str
) -> None:
    several = {
        "d": create_message(api, NOON - timedelta(days=1), kind="link", phone="+79161234568"),
        "c": create_message(api, NOON, channel="sms", state="failed", phone="+79161234569"),
        "b": create_message(api, NOON + timedelta(seconds=1), channel="sms", phone=PHONE),
        "a": create_message(api, NOON + timedelta(seconds=2), phone=PHONE),
    }

    assert ids(api.get("/messages", query)) == [several[name].public_id for name in expected]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"channel": "fax"}, "channel"),
        ({"status": "done"}, "status"),
        ({"kind": "otp"}, "kind"),
        ({"from": "yesterday"}, "from"),
        ({"from": "2026-02-30T00:00:00Z"}, "from"),
        ({"to": "\0"}, "to"),
        ({"limit": "0"}, "limit"),
        ({"limit": "201"}, "limit"),
        ({"limit": "many"}, "limit"),
        ({"limit": "9" * 5000}, "limit"),
        ({"cursor": "x"}, "cursor"),
        ({"cursor": "A" * 4000}, "cursor"),
    ],
)
def test_invalid_query_is_refused(api: Api, query: dict[str, str], field: str) -> None:
    response = api.get("/messages", query)

    assert (response.status, response.code) == (422, "invalid_input")
    assert list(response.body["errors"]) == [field]


def pages(api: Api, **query: str) -> list[list[str]]:
    result: list[list[str]] = []
    cursor: dict[str, str] = {}
    while True:
        response = api.get("/messages", query | cursor)
        assert response.status == 200
        result.append(ids(response))
        assert response.body["has_more"] is (response.body["next_cursor"] is not None)
        if not response.body["has_more"]:
            return result
        cursor = {"cursor": response.body["next_cursor"]}


@pytest.mark.parametrize(
    ("limit", "sizes"), [("1", [1] * 7), ("3", [3, 3, 1]), ("7", [7]), ("8", [7]), ("200", [7])]
)
@pytest.mark.parametrize("apart", [timedelta(), timedelta(seconds=1)])
def test_pages_list_every_message_once(
    api: Api, limit: str, sizes: list[int], apart: timedelta
) -> None:
    several = [create_message(api, NOON + number * apart) for number in range(7)]

    result = pages(api, limit=limit)

    assert [len(page) for page in result] == sizes
    newest_first = sorted(
        several, key=lambda message: (message.created_at, message.id), reverse=True
    )
    assert [public_id for page in result for public_id in page] == [
        message.public_id for message in newest_first
    ]


def test_new_rows_do_not_shift_pages(api: Api) -> None:
    old = [create_message(api, NOON - timedelta(seconds=number)).public_id for number in range(4)]
    first = api.get("/messages", {"limit": "2"})
    for _ in range(3):
        create_message(api, NOON + timedelta(minutes=1))

    second = api.get("/messages", {"limit": "2", "cursor": first.body["next_cursor"]})

    assert ids(first) + ids(second) == old
    assert second.body["has_more"] is False


def test_messages_are_scoped_to_company_and_mode(
    api: Api, test_api: Api, client_of: ClientOf
) -> None:
    live = create_message(api)
    test = create_message(api, mode="test")
    stranger = client_of(CompanyFactory.create())
    theirs = create_message(stranger)

    for client, message in ((api, live), (test_api, test), (stranger, theirs)):
        assert ids(client.get("/messages")) == [message.public_id]
        for other in (live, test, theirs):
            status = 200 if other == message else 404
            assert client.get(f"/messages/{other.public_id}").status == status


def test_timeline_lists_attempts_with_their_receipts(api: Api) -> None:
    message = create_message(api, phone=PHONE, state="delivered", channel="telegram", tries=2)
    refused = AttemptFactory.create(
        message=message,
        n=1,
        channel="whatsapp",
        state="failed",
        error_code="131026",
        accepted_at=None,
        finished_at=NOON,
    )
    taken = AttemptFactory.create(
        message=message, n=2, provider="telegram_gateway", state="delivered"
    )
    received = [
        ReceiptFactory.create(attempt=taken, state=state, vendor_status=word, at=NOON)
        for state, word in (("sent", "sent"), ("delivered", "delivered"), ("read", "read"))
    ]

    response = api.get(f"/messages/{message.public_id}", Accept_Language="en")

    assert (response.body["success"], response.body["message"]) == (True, "Message")
    (summary,) = api.get("/messages").body["data"]
    assert {name: response.body[name] for name in summary} == summary
    assert response.body["timeline"] == [
        {
            "channel": "whatsapp",
            "provider": "whatsapp_cloud",
            "status": "failed",
            "error_code": "131026",
            "started_at": utc(refused.started_at),
            "accepted_at": None,
            "finished_at": "2026-03-01T12:00:00Z",
            "receipts": [],
        },
        {
            "channel": "telegram",
            "provider": "telegram_gateway",
            "status": "delivered",
            "error_code": None,
            "started_at": utc(taken.started_at),
            "accepted_at": utc(taken.accepted_at),
            "finished_at": None,
            "receipts": [
                {
                    "status": receipt.state,
                    "provider_status": receipt.vendor_status,
                    "error_code": None,
                    "at": "2026-03-01T12:00:00Z",
                    "received_at": utc(receipt.received_at),
                }
                for receipt in received
            ],
        },
    ]


def with_everything(api: Api) -> Message:
    message = create_message(api, timezone.now(), state="delivered")
    for n in (1, 2):
        attempt = AttemptFactory.create(message=message, n=n, state="delivered")
        ReceiptFactory.create_batch(n, attempt=attempt)
    return message


@pytest.mark.parametrize("count", [1, 3])
def test_queries_do_not_grow_with_rows(
    api: Api, test_api: Api, count: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    several = [with_everything(api) for _ in range(count)]
    for number in range(count):
        test_api.post("/otp/send", {"phone": f"+7916123456{number}"})
    api.get("/channels")
    test_api.get("/channels")

    with django_assert_num_queries(1):
        assert len(api.get("/messages").body["data"]) == count
    with django_assert_num_queries(1):
        assert len(test_api.get("/test/messages").body["data"]) == count
    # The message, its attempts, their receipts, its fallback_events.
    with django_assert_num_queries(4):
        assert len(api.get(f"/messages/{several[0].public_id}").body["timeline"]) == 2
    with django_assert_num_queries(0):
        assert len(api.get("/channels").body["data"]) == len(CHANNELS)
    with django_assert_num_queries(1):
        api.get("/balance")


@pytest.mark.parametrize(
    ("name", "ru", "en"),
    [
        ("staus", "Нет такого параметра; может быть, status?", "Unknown; did you mean status?"),
        (
            "x",
            "Нет такого параметра; допустимы: "
            "phone, reference, channel, status, kind, from, to, limit, cursor",
            "Unknown; allowed: phone, reference, channel, status, kind, from, to, limit, cursor",
        ),
    ],
)
def test_unknown_parameter_is_refused(api: Api, name: str, ru: str, en: str) -> None:
    create_message(api)

    russian = api.get("/messages", {name: "failed"})
    english = api.get("/messages", {name: "failed"}, Accept_Language="en")

    assert [russian.status, english.status] == [422, 422]
    assert [russian.body["errors"], english.body["errors"]] == [{name: [ru]}, {name: [en]}]


def test_message_of_removed_channel_is_still_shown(api: Api) -> None:
    message = create_message(api, channel="pigeon", state="delivered")

    assert api.get("/messages").body["data"][0]["channel"] == "pigeon"
    assert api.get(f"/messages/{message.public_id}").body["segments"] is None


def test_every_exact_filter_is_in_the_api_and_the_cabinet() -> None:
    assert set(EXACT_FILTERS) <= {field.name for field in DECLARED}
    assert set(EXACT_FILTERS) <= HistoryFilter.base_fields.keys()
