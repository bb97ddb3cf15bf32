"""The log of API requests: which fields are kept, and that no request waits for it."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from accounts.keys import key_format
from accounts.models import Company, Member, Mode
from api import request_log
from api.models import ApiRequest
from api_docs.calls import CALLS
from catalogue import ids
from tests.api.clients import Api, ClientOf
from tests.factories import ApiKeyFactory, CompanyFactory, MemberFactory
from tests.otp.sent_codes import code_of
from webhooks import signing

PHONE = "+79161234567"
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def buffer(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The log, switched on; the test writes it in its own transaction, instead of a thread."""
    settings.REQUEST_LOG_DAYS = 14
    monkeypatch.setattr(request_log.RequestBuffer, "_start", lambda _self: None)
    request_log.buffer.reset()
    yield request_log.buffer
    request_log.buffer.reset()


@pytest.fixture(autouse=True)
def in_the_tests_transaction(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "close", lambda: None, raising=False)


def logged() -> list[ApiRequest]:
    request_log.buffer.flush()
    return list(ApiRequest.objects.order_by("id"))


def test_send_and_verify_are_kept_without_anything_secret(api: Api) -> None:
    sent = api.post("/otp/send", {"phone": "8 916 123-45-67", "link": "https://example.com/x"})
    code = code_of(PHONE)
    api.post("/otp/verify", {"phone": PHONE, "code": code})

    first, second = logged()
    assert (first.method, first.path, first.status, first.code) == ("POST", "/otp/send", 200, "")
    assert (first.phone, first.company_id, first.mode) == ("+7916•••••67", api.company.pk, "live")
    assert ids.public_id("msg", first.message_id) == sent.body["id"]  # type: ignore[arg-type]
    assert (second.path, second.phone) == ("/otp/verify", "+7916•••••67")
    rows = str(ApiRequest.objects.values())
    assert code not in rows
    assert "1234567" not in rows
    assert "example.com" not in rows


@pytest.mark.parametrize("spelt", [PHONE, PHONE[1:], "7 (916) 123-45-67", "tel=%2B79161234567"])
def test_phone_as_the_name_of_a_parameter_is_masked(api: Api, spelt: str) -> None:
    for call in CALLS:
        path = call.path.replace("{id}", "x")
        api.call(
            call.method, path, b'{"' + spelt.encode() + b'": 1}', "application/json", {spelt: 1}
        )

    rows = str([entry.fields for entry in logged()])
    assert "•••••" in rows
    assert "1234567" not in rows.replace("-", "").replace("%2B", "")


@pytest.mark.parametrize(
    "secret",
    [key_format.generate("live"), signing.secret(ids.uuid7(), signing.current_key_id(), 1)],
    ids=["API key", "signing secret"],  # the same in every process
)
def test_secret_as_the_name_of_a_parameter_is_cut(api: Api, secret: str) -> None:
    api.post("/links/shorten", {secret: 1, f"key={secret}": 1})
    api.call("GET", "/messages", b"", "", {secret: 1})

    rows = [entry.fields for entry in logged()]
    assert [fields[-1].startswith(secret[:6]) for fields in rows] == [False, True]
    assert [fields[-1][-1] for fields in rows] == ["…", "…"]
    assert secret[12:30] not in str(rows)


def test_refusals_record_the_faulty_fields(api: Api) -> None:
    api.post("/otp/send", {"purpose": "\n", "locale": "d"})
    api.post("/otp/send", {"phone": "12"})
    api.get("/messages/msg_0192f0c1a6d87b3e9c4f5a6b7c8d9e0f")

    kept = [(entry.path, entry.status, entry.code, entry.fields) for entry in logged()]
    assert kept == [
        ("/otp/send", 422, "invalid_input", ["phone", "purpose", "locale"]),
        ("/otp/send", 422, "invalid_phone", kept[1][3]),
        ("/messages/{id}", 404, "not_found", []),
    ]


def test_requests_over_the_limit_are_kept_once_in_a_batch(
    client_of: ClientOf, settings: Settings
) -> None:
    settings.API_RATE = (1, 3600)
    first, second = (client_of(CompanyFactory.create()) for _ in range(2))
    for each in (first, second):
        for path in ("/balance", "/balance", "/balance", "/channels", "/channels"):
            each.get(path)

    rows = [(entry.company_id, entry.path, entry.status) for entry in logged()]
    assert rows == [
        (each.company.pk, *row)
        for each in (first, second)
        for row in (("/balance", 200), ("/balance", 429), ("/channels", 429))
    ]
    first.get("/balance")
    assert len(logged()) == len(rows) + 1


def test_requests_of_test_keys_are_kept_up_to_a_bound_each_day(
    client_of: ClientOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_log, "TEST_CAPACITY", 2)
    company = CompanyFactory.create()
    for mode in ("test", "live"):
        for _ in range(3):
            client_of(company, mode).get("/channels")

    assert [entry.mode for entry in logged()] == ["test", "test", "live", "live", "live"]
    monkeypatch.setattr(request_log, "DAY", 1)  # another day
    client_of(company, "test").get("/channels")
    assert len(logged()) == 6


def test_unknown_fields_are_kept_and_shown(api: Api, client: Client) -> None:
    api.post("/otp/send", {"phone": PHONE, "chanel": "sms", "x" * 60: 1})
    api.post("/otp/send", {"phnoe": PHONE})
    client.force_login(MemberFactory.create(company=api.company, role=Member.Role.DEVELOPER).user)

    sent, refused = logged()
    page = client.get(reverse("request-list"), {"outcome": "warned"}).content.decode()
    texts = [
        client.get(reverse("request-detail", args=[entry.request_id])).content.decode()
        for entry in (sent, refused)
    ]

    assert (sent.fields, refused.fields) == (["chanel", "x" * 40], ["phone", "phnoe"])
    assert (page.count("<tr>"), "<code>chanel</code>" in page) == (2, True)
    assert "<code>chanel</code> (может быть, <code>channel</code>?)" in texts[0]
    assert "<code>phnoe</code> (может быть, <code>phone</code>?)" in texts[1]
    assert "Поля с ошибкой: <code>phone</code> </p>" in " ".join(texts[1].split())


def test_request_without_valid_key_has_no_company(company: Company) -> None:
    Api(company, "kv_live_wrong").post("/otp/send", {"phone": PHONE})

    assert logged() == []


def test_full_buffer_drops_and_answers(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_log, "CAPACITY", 2)

    statuses = [api.get("/balance").status for _request in range(4)]

    assert statuses == [200] * 4
    assert len(logged()) == 2


@pytest.mark.django_db(transaction=True)
def test_database_outage_loses_only_log_entries(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    api.get("/balance")
    with monkeypatch.context() as patch:
        patch.setattr(request_log, "_INSERT", "SELECT missing FROM nowhere WHERE %(requests)s = ''")
        request_log.buffer.flush()
    api.get("/balance")

    assert len(logged()) == 1


def test_old_requests_are_purged(api: Api) -> None:
    api.get("/balance")
    api.get("/balance")
    old, young = logged()
    ApiRequest.objects.filter(pk=old.pk).update(created_at=timezone.now() - timedelta(days=15))

    assert request_log.purge(100) == 1
    assert list(ApiRequest.objects.all()) == [young]


def rows(client: Client, **query: str) -> list[str]:
    page = client.get(reverse("request-list"), query).context["page"]
    return [row.path for row in page.rows]


def test_list_finds_by_id_phone_answer_code_and_mode(
    client: Client, owner: Member, api: Api, client_of: ClientOf
) -> None:
    sent = api.post("/otp/send", {"phone": PHONE})
    api.post("/links/shorten", {"url": "nonsense"})
    client_of(owner.company, Mode.TEST).get("/balance")
    send, shorten, _balance = logged()

    assert rows(client) == ["/links/shorten", "/otp/send"]
    assert rows(client, mode="test") == ["/balance"]
    assert rows(client, id=send.request_id) == ["/otp/send"]
    assert rows(client, id=sent.body["id"]) == ["/otp/send"]
    assert rows(client, phone="+7 916 123-45-67") == ["/otp/send"]
    assert rows(client, outcome="refused") == ["/links/shorten"]
    assert rows(client, code=shorten.code) == ["/links/shorten"]
    assert rows(client, api_key=str(send.api_key_id)) == ["/links/shorten", "/otp/send"]
    assert rows(client, day=f"{timezone.localdate() - timedelta(days=1)}") == []
    assert rows(client, id="junk", phone="8916") == ["/links/shorten", "/otp/send"]


def test_strangers_request_is_not_found(client: Client, api: Api) -> None:
    api.get("/balance")
    (one,) = logged()
    client.force_login(MemberFactory.create().user)

    for request_id in (one.request_id, "junk", "req_"):
        assert client.get(reverse("request-detail", args=[request_id])).status_code == 404
    assert rows(client, id=one.request_id) == []


@pytest.mark.parametrize(
    "query", ["n" * 41 + "=1", "%00x=1", "%ED%A0%80=1", "&".join(f"f{n}=1" for n in range(400))]
)
def test_odd_parameter_keeps_every_entry(api: Api, client_of: ClientOf, query: str) -> None:
    other = client_of(ApiKeyFactory.create().company)
    other.get("/balance")
    api.get(f"/messages?{query}")
    other.get("/balance")

    rows = logged()

    assert [row.path for row in rows] == ["/balance", "/messages", "/balance"]
    assert all(len(name) <= 40 for name in rows[1].fields)
    assert len(rows[1].fields) <= 20


def test_refused_entry_does_not_lose_others(api: Api) -> None:
    api.get("/balance")
    first = request_log.buffer._entries[0]
    for broken in ({"duration": 2**40}, {"status": 10**6}, {"code": "\0"}, {"mode": "\ud800"}):
        request_log.buffer._entries.append(first._replace(**broken))
    api.get("/balance")

    assert [row.path for row in logged()] == ["/balance", "/balance"]
