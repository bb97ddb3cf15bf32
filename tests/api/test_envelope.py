"""The common part of every response: any path, method, body or failure."""

import gzip
import time
from typing import Any

import pytest
import time_machine
from django.test import Client, RequestFactory
from pytest_django import Settings

from accounts.keys import api_keys
from api.base_view import LOGGED_PATH, ApiView, NotFoundView
from billing.models import Wallet
from channels.models import Message
from links.api.views import LinkDetail
from tests.api.blocking import locked_by_another
from tests.api.clients import Api, ApiResponse, ClientOf

PHONE = "+79161234567"
CALLS = [
    ("POST", "/otp/send"),
    ("POST", "/otp/verify"),
    ("POST", "/links/shorten"),
    ("POST", "/links/send"),
    ("GET", "/balance"),
    ("GET", "/channels"),
    ("GET", "/messages"),
    ("GET", "/messages/msg_1"),
    ("GET", "/test/messages"),
]


def check_envelope(response: ApiResponse) -> None:
    body = response.body
    assert body["success"] is (200 <= response.status < 300)
    assert isinstance(body["message"], str)
    assert response.headers["Content-Type"] == "application/json"
    assert response.headers["Cache-Control"] == "no-store"
    assert response.headers["X-Request-Id"].startswith("req_")
    if not body["success"]:
        assert body["code"] == body["code"].lower()
        assert body["request_id"] == response.headers["X-Request-Id"]


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/",
        "/opt",
        "/otp/send/x",
        "/otp//send",
        "/%00",
        "/%0Ax",
        "/opt/send%0A",
        "/messages/a/b",
        "/%D1%84",
        "/%FF",
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST", "BREW"])
def test_unknown_path_is_answered_404_in_the_envelope(api: Api, method: str, path: str) -> None:
    response = api.call(method, path)

    check_envelope(response)
    assert (response.status, response.code) == (404, "not_found")


@pytest.mark.parametrize(
    "path",
    [
        "/api/",
        "/api/v2/otp/send",
        "/api/v1",
        "/api",
        "/API/v1/balance",
        "//api/v1/otp/send",
        "///api/v1/balance",
        "/Api",
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_unknown_path_next_to_the_version_is_not_found(method: str, path: str) -> None:
    response = Client(enforce_csrf_checks=True).generic(method, "/", PATH_INFO=path)

    assert response.status_code == 404
    assert response.json()["code"] == "not_found"
    assert response["X-Request-Id"] == response.json()["request_id"]


@pytest.mark.parametrize(("method", "path"), CALLS)
def test_method_is_checked_before_the_key(api: Api, method: str, path: str) -> None:
    nobody = Api(api.company, None)
    allowed = "POST" if method == "POST" else "GET, HEAD"

    for wrong in {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PAYLOAD"} - {
        method
    }:
        response = nobody.call(wrong, path)

        check_envelope(response)
        assert (response.status, response.code) == (405, "method_not_allowed")
        assert response.headers["Allow"] == allowed


@pytest.mark.parametrize(("method", "path"), CALLS)
def test_key_is_checked_before_the_body(api: Api, method: str, path: str) -> None:
    response = Api(api.company, None).call(method, path, b"{" * 100_000, "text/plain")

    check_envelope(response)
    assert response.status == 401


def test_head_is_a_get_without_a_body(api: Api) -> None:
    response = api.call("HEAD", "/balance")

    assert (response.status, response.raw) == (200, b"")
    assert response.headers["X-Request-Id"].startswith("req_")


@pytest.mark.parametrize(("method", "path"), CALLS)
def test_one_trailing_slash_is_tolerated(api: Api, method: str, path: str) -> None:
    bare = api.call(method, path)
    slashed = api.call(method, path + "/")

    assert bare.status == slashed.status != 301
    assert bare.body | {"request_id": ""} == slashed.body | {"request_id": ""}


@pytest.mark.parametrize(
    ("header", "language"),
    [
        (None, "ru"),
        ("", "ru"),
        ("*", "ru"),
        ("de", "ru"),
        ("en", "en"),
        ("EN-us", "en"),
        ("en-GB,en;q=0.9", "en"),
        ("ru,en", "ru"),
        ("en,ru", "en"),
        ("ru;q=0.5,en;q=0.7", "en"),
        ("en;q=0", "ru"),
        ("de,en;q=0.1", "en"),
        ("en;q=nan", "ru"),
        ("en;q=x,,;=", "ru"),
    ],
)
def test_messages_are_in_the_accepted_language(api: Api, header: str | None, language: str) -> None:
    headers = {} if header is None else {"Accept-Language": header}

    assert (
        api.get("/balance", **headers).body["message"]
        == {"ru": "Баланс токенов", "en": "Token balance"}[language]
    )


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json",
        "application/json; charset=utf-8",
        "Application/JSON",
        " application/json ",
    ],
)
def test_json_content_types_are_accepted(api: Api, content_type: str) -> None:
    response = api.call("POST", "/otp/send", b'{"phone": "+79161234567"}', content_type)

    assert response.status == 200


@pytest.mark.parametrize(
    "content_type",
    [
        "",
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "application/jsonp",
        "application/vnd.api+json",
        "json",
    ],
)
def test_other_content_types_are_refused(api: Api, content_type: str) -> None:
    response = api.call("POST", "/otp/send", b'{"phone": "+79161234567"}', content_type)

    check_envelope(response)
    assert (response.status, response.code) == (415, "unsupported_media_type")


@pytest.mark.parametrize("coding", ["gzip", "GZIP", "br", "zstd", "deflate, gzip", "identity"])
def test_compressed_body_is_refused_as_compressed(api: Api, coding: str) -> None:
    body = b'{"url": "https://example.com/"}'
    is_plain = coding == "identity"
    sent = body if is_plain else gzip.compress(body)

    response = api.call("POST", "/links/shorten", sent, Content_Encoding=coding)

    check_envelope(response)
    assert response.status == (200 if is_plain else 415)
    assert is_plain or "Content-Encoding" in response.body["message"]


@pytest.mark.parametrize("content_type", ["", "text/plain", "application/json"])
def test_no_body_is_an_empty_object(api: Api, content_type: str) -> None:
    response = api.call("POST", "/otp/send", b"", content_type)

    assert (response.status, list(response.body["errors"])) == (422, ["phone"])


MALFORMED: list[bytes] = [
    b"{",
    b"}",
    b"nonsense",
    b"{'phone': 1}",
    b'{"phone": NaN}',
    b'{"phone": 1,}',
    b'{"phone": "\xff"}',
    b'{"phone": "\\ud800"}',
    b'{"phone": "a\nb"}',
    b'{"phone": 01}',
    "{}".encode("utf-16"),
    b"[" * 10_000,
    b'{"x":' * 10_000,
    b"\x00",
    b" ",
]


@pytest.mark.parametrize("body", MALFORMED, ids=range(len(MALFORMED)))
@pytest.mark.parametrize("path", ["/otp/send", "/links/shorten"])
def test_malformed_json_is_refused_in_the_envelope(api: Api, path: str, body: bytes) -> None:
    response = api.call("POST", path, body, Idempotency_Key="k")

    check_envelope(response)
    assert (response.status, response.code) == (422, "invalid_input")
    assert response.body["message"] == "Тело запроса\u00a0— не JSON"


@pytest.mark.parametrize("path", ["/otp/send", "/links/shorten"])
def test_byte_order_mark_before_json_is_ignored(api: Api, path: str) -> None:
    response = api.call(
        "POST", path, b'\xef\xbb\xbf{"phone": "+79161234567", "url": "https://e.test/"}'
    )

    check_envelope(response)
    assert response.status == 200


@pytest.mark.parametrize("body", [b"[]", b"null", b"1", b'"phone"', b"true", b"1.5", b'[{"a":1}]'])
@pytest.mark.parametrize("path", [path for method, path in CALLS if method == "POST"])
def test_json_other_than_an_object_is_refused(api: Api, path: str, body: bytes) -> None:
    response = api.call("POST", path, body)

    check_envelope(response)
    assert response.body["message"] == "Тело запроса должно быть объектом JSON"


def test_deep_json_in_an_unknown_field_is_accepted(api: Api) -> None:
    deep: Any = "x"
    for _ in range(200):
        deep = [deep]

    response = api.post("/otp/send", {"phone": PHONE, "x": deep}, Idempotency_Key="k")

    assert response.status == 200


def test_json_too_deep_to_hash_is_refused(api: Api) -> None:
    body = b'{"phone": "+79161234567", "x": ' + b"[" * 500 + b"]" * 500 + b"}"

    response = api.call("POST", "/otp/send", body, Idempotency_Key="k")

    check_envelope(response)
    assert (response.status, response.code) == (422, "invalid_input")


def test_body_of_64_kb_is_the_largest(api: Api) -> None:
    frame = len(b'{"phone":"+79161234567","x":""}')

    largest = api.post("/otp/verify", {"phone": PHONE, "x": "x" * (65_536 - frame)})
    larger = api.post("/otp/verify", {"phone": PHONE, "x": "x" * (65_537 - frame)})

    assert list(largest.body["errors"]) == ["code"]
    assert (larger.status, larger.body["message"]) == (422, "Тело запроса больше 64 КБ")


def test_too_many_query_fields_are_refused(api: Api) -> None:
    response = api.get("/messages", {f"f{number}": 1 for number in range(1100)})

    check_envelope(response)
    assert (response.status, response.code) == (422, "invalid_input")


def test_crash_is_answered_in_the_envelope(api: Api, settings: Settings) -> None:
    settings.PRICES = None

    for method, path in (("POST", "/otp/send"), ("POST", "/links/send"), ("GET", "/channels")):
        response = api.call(
            method, path, b'{"phone": "+79161234567", "url": "https://example.com"}'
        )

        check_envelope(response)
        assert (response.status, response.code) == (500, "internal_error")
        assert "RateLimit" in response.headers
    assert not Message.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_database_timeout_is_answered_as_unavailable(api: Api) -> None:
    assert api.get("/balance").status == 200

    with locked_by_another(lambda: Wallet.objects.select_for_update().get(company=api.company)):
        response = api.post("/otp/send", {"phone": PHONE})

    check_envelope(response)
    assert (response.status, response.code) == (503, "unavailable")
    assert response.headers["Retry-After"] == str(response.body["retry_after"]) == "1"
    assert not Message.objects.exists()
    assert api.post("/otp/send", {"phone": PHONE}).status == 200  # its place was given back


def test_rate_limit_headers_count_down(api: Api, client_of: ClientOf) -> None:
    api.company.api_rate = 3
    api.company.save()

    with time_machine.travel(time.time(), tick=False):  # all in one window
        responses = [api.get("/balance") for _ in range(5)]

    assert [response.status for response in responses] == [200, 200, 200, 429, 429]
    left = [response.headers["RateLimit"].split(";")[1] for response in responses]
    assert left == ["r=2", "r=1", "r=0", "r=0", "r=0"]
    assert {response.headers["RateLimit-Policy"] for response in responses} == {'"key";q=3;w=10'}
    refused = responses[-1]
    check_envelope(refused)
    assert refused.code == "rate_limited"
    assert refused.headers["Retry-After"] == str(refused.body["retry_after"])
    assert 1 <= refused.body["retry_after"] <= 10
    assert refused.headers["RateLimit"] == f'"key";r=0;t={refused.body["retry_after"]}'
    assert client_of(api.company).get("/balance").status == 200  # each key has its own


def test_first_failed_check_is_reported(api: Api) -> None:
    """The first of several errors in the order of checks is reported."""
    api.post("/otp/verify", {"phone": PHONE, "code": "1234"}, Idempotency_Key="k")
    huge = b"{" * 65_537
    form = "text/plain"
    nobody = Api(api.company, None)
    spoiled = {"phone": "1", "code": "x", "purpose": "\n"}

    def code_of_error(response: ApiResponse) -> str:
        return response.code

    assert code_of_error(nobody.call("BREW", "/opt/x", huge, form)) == "not_found"
    assert code_of_error(nobody.call("BREW", "/otp/verify", huge, form)) == "method_not_allowed"
    assert code_of_error(nobody.call("POST", "/otp/verify", huge, form)) == "invalid_api_key"
    assert code_of_error(api.call("POST", "/otp/verify", huge, form)) == "invalid_input"
    assert code_of_error(api.call("POST", "/otp/verify", b"{", form)) == "unsupported_media_type"
    assert code_of_error(api.call("POST", "/otp/verify", b"{")) == "invalid_input"
    assert set(api.post("/otp/verify", spoiled).body["errors"]) == {"purpose", "code"}
    assert code_of_error(api.post("/otp/verify", spoiled | {"purpose": "p", "code": "1234"})) == (
        "invalid_phone"
    )
    assert (
        code_of_error(api.post("/otp/verify", {"phone": PHONE}, Idempotency_Key="k"))
        == "invalid_input"
    )
    api.company.api_rate = 1
    api.company.save()
    api_keys.clear_cache()
    with time_machine.travel(time.time(), tick=False):
        api.get("/balance")
        assert code_of_error(api.call("POST", "/otp/verify", huge, form)) == "rate_limited"


def test_calls_are_served_uncounted_without_redis(api: Api, no_redis: None) -> None:
    response = api.get("/balance")

    assert response.status == 200
    assert "RateLimit" not in response.headers


@pytest.mark.parametrize("view", [NotFoundView, LinkDetail])
def test_log_has_the_beginning_of_a_long_path(rf: RequestFactory, view: type[ApiView]) -> None:
    request = rf.get(f"/api/v1/links/{'a' * 20_000}")

    assert len(view().shown_path(request)) == LOGGED_PATH
