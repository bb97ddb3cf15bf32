"""The contract of every dialect, found by its folder: refusals, authentication, sizes, paths."""

import re
import time
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any, NamedTuple

import orjson
import pytest
import time_machine
from django.conf import settings
from django.db import OperationalError
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from accounts.models import Company, Mode
from api import request_log
from api.body_admission import admit, refuse
from api.models import ApiRequest
from catalogue.errors import DomainError, Error
from compat.dialect import Dialect, complete, dialects, routes
from compat.twilio.dialect import service_sid
from compat.view import CompatView, serialized
from tests.api.clients import Api, ApiResponse
from tests.api.test_refusals import refusals_kept
from tests.compat.clients import DialectClient, authorization, client_key
from tests.factories import ApiKeyFactory, CompanyFactory

DIALECTS = list(dialects().values())
LIMITED = "+79990000011"  # of a test key: refused
SERVER_ERRORS = {Error.INTERNAL_ERROR, Error.DELIVERY_FAILED, Error.UNAVAILABLE}


each_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)


class Call(NamedTuple):
    dialect: Dialect
    method: str
    path: str
    view: type[CompatView]


def _calls(dialect: Dialect) -> list[Call]:
    result = []
    for route in routes(dialect):
        view: Any = route.callback
        methods = [
            name.upper()
            for name in ("get", "post", "put", "patch", "delete")
            if hasattr(view.view_class, name)
        ]
        path = "/" + re.sub(r"<[^>]+>", "x", str(route.pattern))
        result += [Call(dialect, method, path, view.view_class) for method in methods]
    return result


CALLS = [call for dialect in DIALECTS for call in _calls(dialect)]
CLOSED = [call for call in CALLS if not call.view.is_open]
# Without a body that is judged first; the phone of a lookup is no id, nobody has templates.
WITH_ID = [
    call
    for call in CLOSED
    if re.search(r"^(?!.*(lookup|templates)).*/x", call.path) and call.method in {"GET", "DELETE"}
]


def each(calls: list[Call]) -> pytest.MarkDecorator:
    names = [f"{call.dialect.name}-{call.method}-{call.path}" for call in calls]
    return pytest.mark.parametrize("call", calls, ids=names)


def check(response: ApiResponse, dialect: Dialect, error: Error) -> None:
    """The refusal in the dialect's words."""
    expected = dialect.refuse(DomainError(error), "req_1")
    assert response.status == expected.status
    assert response.headers["Content-Type"] == expected.content_type
    assert orjson.loads(response.raw).keys() == expected.body.keys()
    assert response.headers["Cache-Control"] == "no-store"
    assert response.headers["X-Request-Id"].startswith("req_")


def test_error_without_row_uses_one_of_its_status() -> None:
    broad = (Error.NOT_FOUND, Error.INVALID_INPUT, Error.FORBIDDEN, Error.UNAVAILABLE)
    needed = {error for error in Error if error.status not in {403, 422}} | set(broad)
    rows = complete({error: error for error in needed})

    assert rows.keys() == set(Error)
    taken = {rows[error] for error in Error if error.status == 422 and error not in needed}
    assert taken == {Error.INVALID_INPUT, Error.NOT_FOUND, Error.FORBIDDEN}
    assert {rows[error] for error in Error if error.status == 403} == {Error.FORBIDDEN}


@each_dialect
def test_dialect_writes_every_error(dialect: Dialect) -> None:
    assert set(dialect.errors) == set(Error)
    for error in Error:
        extra: dict[str, Any] = {name: 1 for name in error.extra_fields if name != "errors"}
        if "errors" in error.extra_fields:
            extra["errors"] = {"phone": ["Wrong"]}
        response = dialect.refuse(DomainError(error, **extra), "req_1")

        assert orjson.loads(serialized(response))
        assert 400 <= response.status < 600
        assert (response.status >= 500) is (error in SERVER_ERRORS), error


@each_dialect
def test_refusal_says_that_the_protection_holds_a_send_back(dialect: Dialect) -> None:
    limit = {"kind": "guard", "scope": "country"}
    error = DomainError(Error.SEND_LIMIT, message="Lift it", retry_after=60, limit=limit)

    assert b"Lift it" in serialized(dialect.refuse(error, "req_1"))


@each_dialect
def test_key_of_the_api_learns_which_key_is_needed(dialect: Dialect, company: Company) -> None:
    key = ApiKeyFactory.create(company=company, mode=Mode.TEST).plaintext
    call = next(each for each in CLOSED if each.dialect is dialect)

    response = DialectClient(dialect, key).call(call.method, call.path)

    assert b"For another service's client, create one in the cabinet" in response.raw


@each(CLOSED)
def test_call_requires_a_key_of_its_kind(call: Call, db: None) -> None:
    company = CompanyFactory.create()
    past = timezone.now() - timedelta(days=1)
    unknown = [
        "",
        "kv_test_x",
        client_key(company, revoked_at=past).plaintext,
        client_key(company, expires_at=past).plaintext,
    ]
    ordinary = ApiKeyFactory.create(company=company, mode=Mode.TEST).plaintext
    elsewhere = client_key(company, allowed_ips=["203.0.113.7"]).plaintext
    suspended = client_key(CompanyFactory.create(status=Company.Status.SUSPENDED)).plaintext

    for key in unknown:
        response = DialectClient(call.dialect, key or None).call(call.method, call.path)
        check(response, call.dialect, Error.INVALID_API_KEY)
        assert response.headers["WWW-Authenticate"] == call.dialect.challenge
    for key in (ordinary, elsewhere, suspended):
        response = DialectClient(call.dialect, key).call(call.method, call.path)
        check(response, call.dialect, Error.FORBIDDEN)


MALFORMED = ("Basic", "Basic !", "Basic " + "A" * 9999, "Basic gICA", "Bearer", "x", "App \u00e9")


@each_dialect
def test_call_refuses_malformed_header(dialect: Dialect, db: None) -> None:
    clients = [DialectClient(dialect, None, Authorization=header) for header in MALFORMED]
    for call in CLOSED:
        for client in clients if call.dialect is dialect else ():
            check(client.call(call.method, call.path), dialect, Error.INVALID_API_KEY)


@each_dialect
def test_call_refuses_other_methods(dialect: Dialect, db: None) -> None:
    client = DialectClient(dialect, None)
    every = {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"}
    for call in (call for call in CALLS if call.dialect is dialect):
        own = {each.method for each in CALLS if (each.view, each.path) == (call.view, call.path)}
        for method in every - own:
            response = client.call(method, call.path)
            check(response, dialect, Error.METHOD_NOT_ALLOWED)
            assert call.method in response.headers["Allow"]


@each(WITH_ID)
def test_malformed_ids_are_not_found(call: Call, company: Company) -> None:
    service = service_sid(company.pk, Mode.TEST, "login")
    client = DialectClient(call.dialect, client_key(company).plaintext)

    for path in (call.path, call.path.replace("/Services/x/", f"/Services/{service}/")):
        check(client.call(call.method, path), call.dialect, Error.NOT_FOUND)


@each([call for call in CALLS if call.method in {"POST", "PUT", "PATCH"}])
def test_call_refuses_missing_bodies(call: Call, company: Company) -> None:
    client = DialectClient(call.dialect, client_key(company).plaintext)
    body = b"x" * (settings.MAX_API_BODY + 1)

    responses = [
        client.call(call.method, call.path, body),
        client.call(call.method, call.path, b"x=1", "text/plain"),
        client.call(call.method, call.path, b"\xff\xfe", "application/json"),
        client.call(call.method, call.path, b"[" * 100_000, "application/json"),
        client.call(call.method, call.path, b"%00=%FF&%", "application/x-www-form-urlencoded"),
        client.call(call.method, call.path, b"a&" * 5000, "application/x-www-form-urlencoded"),
        client.call(call.method, call.path, b"{}", "application/json", Content_Encoding="gzip"),
    ]

    assert all(400 <= response.status < 500 for response in responses)
    assert {response.headers["Content-Type"] for response in responses} == {
        call.dialect.refuse(DomainError(Error.INVALID_INPUT), "").content_type
    }


@each_dialect
def test_unknown_path_is_refused_in_the_dialects_format(dialect: Dialect, db: None) -> None:
    client = DialectClient(dialect, None)
    for path in ("", "/", "/x", "/v2", "/v2//x", "/%00", "/%FF", "/x%0Ay", "/..."):
        for method in ("GET", "POST", "BREW"):
            check(client.call(method, path), dialect, Error.NOT_FOUND)
    own = [call for call in CALLS if call.dialect is dialect]
    for call in own:
        if not call.path.endswith("/v2/verify"):
            check(client.call(call.method, f"{call.path}/"), dialect, Error.NOT_FOUND)


@pytest.mark.parametrize("path", ["/compat/", "/compat/klingon/v2", "/compat/twilio2"])
def test_unknown_dialect_is_refused_as_the_api_refuses(path: str) -> None:
    response = Client().post(path)

    assert (response.status_code, response.json()["code"]) == (404, "not_found")


@each(CLOSED)
def test_requests_are_limited_by_its_rate(call: Call, db: None) -> None:
    company = CompanyFactory.create(api_rate=1)
    client = DialectClient(call.dialect, client_key(company).plaintext)

    with time_machine.travel(timezone.now(), tick=False):
        client.call(call.method, call.path)
        response = client.call(call.method, call.path)

    check(response, call.dialect, Error.RATE_LIMITED)
    assert int(response.headers["Retry-After"]) >= 1


@pytest.fixture
def logged(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Callable[[], ApiRequest]:
    """The only request in the log, written by the test instead of a thread."""
    settings.REQUEST_LOG_DAYS = 14
    monkeypatch.setattr(request_log.RequestBuffer, "_start", lambda _self: None)
    request_log.buffer.reset()

    def written() -> ApiRequest:
        request_log.buffer.flush()
        return ApiRequest.objects.get()

    return written


@each(CLOSED)
def test_request_is_logged_by_its_declared_path(
    call: Call, company: Company, logged: Callable[[], ApiRequest]
) -> None:
    key = client_key(company)

    response = DialectClient(call.dialect, key.plaintext).call(call.method, call.path)

    row = logged()
    assert (row.request_id, row.api_key_id, row.status) == (
        response.headers["X-Request-Id"],
        key.pk,
        response.status,
    )
    assert re.sub(r"\{\w+\}", "x", row.path) == f"{call.dialect.path}{call.path}"[:80]


@each(CLOSED)
def test_crash_is_refused_in_the_dialects_format(
    call: Call, company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = DialectClient(call.dialect, client_key(company).plaintext)

    for crash, error in ((ValueError, Error.INTERNAL_ERROR), (OperationalError, Error.UNAVAILABLE)):
        with monkeypatch.context() as patch:
            patch.setattr(call.view, "check_access", _raising(crash))
            check(client.call(call.method, call.path), call.dialect, error)


def _raising(error: type[Exception]) -> Any:
    def method(*_args: Any, **_path: Any) -> None:
        raise error("crash")

    return method


def environ(path: str, authorization: str = "") -> dict[str, Any]:
    return {
        "PATH_INFO": path,
        "REQUEST_METHOD": "POST",
        "REMOTE_ADDR": "198.51.100.9",
        "HTTP_AUTHORIZATION": authorization,
        "wsgi.url_scheme": "https",
    }


@each_dialect
def test_only_bodies_of_known_keys_are_received(dialect: Dialect, company: Company) -> None:
    key = client_key(company)
    ordinary = ApiKeyFactory.create(company=company).plaintext
    path = f"{dialect.path}/v2"

    allowance = admit(environ(path, authorization(dialect, key.plaintext)))

    assert allowance is not None
    assert allowance.sender == f"key {key.pk}"
    assert admit(environ(path, authorization(dialect, ordinary))) is None
    assert admit(environ(path)) is None
    assert admit(environ("/compat/klingon/x", authorization(dialect, key.plaintext))) is None
    for open_path in dialect.open_paths:
        assert admit(environ(f"{dialect.path}{open_path}")) is not None


@each_dialect
@pytest.mark.parametrize("error", [Error.REQUEST_TIMEOUT, Error.UNAVAILABLE, Error.HTTPS_REQUIRED])
def test_server_refuses_early_in_the_dialects_format(dialect: Dialect, error: Error) -> None:
    status, headers, body = refuse(environ(f"{dialect.path}/v2/x"), error)

    expected = dialect.refuse(DomainError(error), "req_1")
    assert (status, orjson.loads(body).keys()) == (expected.status, expected.body.keys())
    assert ("Content-Type", expected.content_type) in headers


def test_unknown_keys_are_refused_without_waiting(db: None) -> None:
    """No dialect takes longer to refuse a key than the API does."""
    started = time.perf_counter()
    for dialect in DIALECTS:
        for _ in range(20):
            DialectClient(dialect, "kv_test_" + "a" * 38).call("POST", "/v2")
    assert time.perf_counter() - started < 2.0


def test_api_refuses_a_key_of_this_kind(company: Company) -> None:
    api = Api(company, client_key(company).plaintext)

    responses = [
        api.post("/otp/send", {"phone": "+79161234567"}),
        api.get("/messages"),
        api.get("/balance"),
        api.get("/channels"),
        api.get("/persons/export"),
        api.post("/top-up", {}),
    ]

    assert {response.status for response in responses} == {403}
    assert {response.code for response in responses} == {"forbidden"}


@pytest.mark.parametrize("name", ["twilio", "prelude"])
def test_refused_send_is_freed(company: Company, name: str) -> None:
    client = DialectClient(dialects()[name], client_key(company).plaintext)
    service = service_sid(company.pk, Mode.TEST, "login")
    target = {"type": "phone_number", "value": LIMITED}
    calls = {
        "twilio": partial(
            client.form, f"/v2/Services/{service}/Verifications", {"To": LIMITED, "Channel": "sms"}
        ),
        "prelude": partial(client.json, "/v2/verification", {"target": target}),
    }

    assert refusals_kept(calls[name]) == 0
    assert calls[name]().status == (429 if name == "twilio" else 200)
