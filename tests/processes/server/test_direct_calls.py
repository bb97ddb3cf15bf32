"""Calls answered past Django's handler are answered as by it."""

import gc
import hashlib
import hmac
import re
import time
import weakref
from io import BytesIO
from typing import Any

import orjson
import pytest
from django.conf import settings
from django.core import signals
from django.core.handlers.wsgi import WSGIHandler, WSGIRequest
from django.db import connection, connections
from django.test import RequestFactory
from django.test.utils import CaptureQueriesContext

from channels.models import Message, Receipt
from compat.dialect import dialects
from config.api_urls import FIXED_PATHS
from identity_hooks.kinds import kinds
from identity_hooks.models import PATH
from otp.web.api import SendCode
from processes.server.direct_calls import BoundedHandler, DirectCalls
from tests.api.clients import Api
from tests.otp.sent_codes import forget_limits

pytestmark = pytest.mark.django_db(transaction=True)  # both end the request's connection

Response = tuple[str, list[tuple[str, str]], bytes]
PHONE = "+79161234567"
VARYING = re.compile(rb"(req|msg|otp|lnk)_[0-9a-f]+|\d{4}-\d\d-\d\dT[0-9:.]+Z|r=\d+;t=\d+")


def refused_by_django(*_: Any) -> Any:
    raise AssertionError("it went through Django's handler")


@pytest.fixture(scope="module")
def django_handler() -> WSGIHandler:
    return BoundedHandler()


@pytest.fixture(scope="module")
def direct() -> DirectCalls:
    return DirectCalls(refused_by_django, FIXED_PATHS)


@pytest.fixture
def both(django_handler: WSGIHandler, direct: DirectCalls) -> tuple[WSGIHandler, DirectCalls]:
    return django_handler, direct


def respond(
    application: Any, method: str, path: str, body: bytes = b"", /, **headers: str
) -> Response:
    request = RequestFactory().generic(method, path, body, "application/json", headers=headers)
    return run(application, request.environ)


def run(application: Any, environ: dict[str, Any]) -> Response:
    started: list[Any] = []
    chunks = application(environ, lambda *given: started.extend(given))
    whole = b"".join(chunks)
    if hasattr(chunks, "close"):
        chunks.close()
    status, given = started
    return status, given, whole


def without_ids(response: Response) -> Response:
    status, headers, body = response
    known = [(name, VARYING.sub(b"", text.encode()).decode()) for name, text in headers]
    return status, sorted(known), VARYING.sub(b"", body)


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/api/v1/otp/send", {"phone": PHONE}),
        ("POST", "/api/v1/otp/send/", {"phone": PHONE}),
        ("POST", "/api/v1/otp/send", {"phone": "+7"}),
        ("POST", "/api/v1/otp/send", [1]),
        ("POST", "/api/v1/otp/verify", {"phone": PHONE, "code": "000000"}),
        ("POST", "/api/v1/links", {"url": "https://example.com/a"}),
        ("GET", "/api/v1/otp/send", None),
        ("HEAD", "/api/v1/balance", None),
        ("OPTIONS", "/api/v1/balance", None),
        ("GET", "/api/v1/balance?unknown=1", None),
        ("GET", "/api/v1/balance", None),
    ],
)
def test_api_call_is_answered_as_by_django(
    api: Api, both: tuple[Any, Any], method: str, path: str, body: Any
) -> None:
    sent = b"" if body is None else orjson.dumps(body)

    responses = []
    for application in both:
        forget_limits()
        responses.append(without_ids(respond(application, method, path, sent, **api.headers)))
        Message.objects.all().delete()

    assert responses[0] == responses[1]


@pytest.mark.parametrize("authorization", ["Bearer nothing", "Basic bm8=", ""])
def test_call_without_a_key_is_refused_as_by_django(
    both: tuple[Any, Any], authorization: str
) -> None:
    headers = {"Authorization": authorization}
    by_django, direct = (
        respond(application, "POST", "/api/v1/otp/send", b"", **headers) for application in both
    )

    assert without_ids(direct) == without_ids(by_django)
    assert direct[0] == "401 Unauthorized"


def webhook_headers(body: bytes, secret: str) -> dict[str, str]:
    digest = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return {"X-Hub-Signature-256": f"sha256={digest}"}


@pytest.mark.parametrize("secret", ["ours", "another"])
def test_webhook_is_answered_as_by_django(both: tuple[Any, Any], secret: str) -> None:
    status = {"id": "wamid.1", "status": "delivered", "timestamp": "1790000000"}
    change = {"field": "messages", "value": {"statuses": [status]}}
    body = orjson.dumps({"object": "whatsapp_business_account", "entry": [{"changes": [change]}]})
    key = settings.PROVIDER_ACCOUNTS["whatsapp_cloud"]["app_secret"] if secret == "ours" else secret
    headers = webhook_headers(body, key)

    responses = [
        respond(application, "POST", "/hooks/whatsapp", body, **headers) for application in both
    ]

    assert responses[0] == responses[1]
    assert Receipt.objects.count() == (secret == "ours")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/hooks/whatsapp?hub.mode=subscribe&hub.challenge=7&hub.verify_token=no"),
        ("GET", "/hooks/twilio"),
        ("PUT", "/hooks/whatsapp"),
        ("POST", "/hooks/nobody"),
        ("POST", "/hooks/whatsapp/nobody"),
        ("POST", "/hooks/twilio"),
    ],
)
def test_other_webhook_call_is_answered_as_by_django(
    both: tuple[Any, Any], method: str, path: str
) -> None:
    by_django, direct = (respond(application, method, path) for application in both)

    assert direct == by_django


@pytest.mark.parametrize(
    "path", ["/", "/hooks/a/b/c", "/api/v1/messages/msg_1", "/api/v1/nothing", "/docs"]
)
def test_other_paths_go_through_django(direct: DirectCalls, path: str) -> None:
    with pytest.raises(AssertionError, match="through Django"):
        respond(direct, "GET", path)


MANY_PARAMETERS = "&".join("a" * 1001)
CONTENT_TYPES = [
    *(f"application/json; charset={name}" for name in ("zlib", "hex", "punycode", "undefined")),
    *(f"application/json; a*={text}" for text in ("bogus''%41", "utf-8''%00", "idna''%ff")),
]


@pytest.mark.parametrize(
    ("content_type", "query"),
    [
        *((kind, "a=1") for kind in CONTENT_TYPES),
        ("application/json; charset=utf-8", MANY_PARAMETERS),
    ],
)
@pytest.mark.parametrize("path", ["/api/v1/messages", "/hooks/twilio", "/account/login/"])
def test_charset_of_a_body_is_ignored(
    api: Api, django_handler: WSGIHandler, path: str, content_type: str, query: str
) -> None:
    """Python has codecs of no encoding, and a request is made where nothing handles errors."""
    direct = DirectCalls(django_handler, FIXED_PATHS)
    asked = RequestFactory().get(path, headers=api.headers).environ | {"QUERY_STRING": query}
    plain = run(direct, asked | {"CONTENT_TYPE": "application/json"})

    named = run(direct, asked | {"CONTENT_TYPE": content_type})

    assert named[0] == plain[0]
    assert plain[0][0] in "24"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CONTENT_TYPE", 'multipart/form-data; boundary="' + ";" * 30_000),
        ("CONTENT_TYPE", 'multipart/form-data; boundary="' + r"\";" * 10_000),
        ("HTTP_COOKIE", 'session="' + "\\" * 30_000 + '"'),
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_long_header_costs_little(
    django_handler: WSGIHandler, method: str, name: str, value: str
) -> None:
    """One of 200,000 characters took a minute."""
    environ = RequestFactory().generic(method, "/account/login/").environ
    run(django_handler, dict(environ))  # what the first request reads
    began = time.process_time()

    run(django_handler, environ | {name: value})

    assert time.process_time() - began < 0.3


def test_cookies_are_read_as_by_django(django_handler: WSGIHandler) -> None:
    sent = {"HTTP_COOKIE": 'session=a1; csrftoken=b; messages=".eJx:1-_"; plain; x="a b"; x=2'}
    environ = RequestFactory().get("/").environ | sent

    assert django_handler.request_class(environ).COOKIES == WSGIRequest(environ).COOKIES


@pytest.mark.parametrize("charset", ["windows-1251", "utf-16", "zlib", "unknown"])
def test_form_in_another_encoding_is_refused(django_handler: WSGIHandler, charset: str) -> None:
    form = f"application/x-www-form-urlencoded; charset={charset}"
    request = RequestFactory().generic("POST", "/account/login/", b"login=a", form)

    assert run(django_handler, request.environ)[0] == "400 Bad Request"


@pytest.mark.parametrize(("length", "status"), [(2**19, "403"), (2**19 + 1, "400")])
def test_form_without_files_has_a_bound(
    django_handler: WSGIHandler, length: int, status: str
) -> None:
    form = "application/x-www-form-urlencoded"
    request = RequestFactory().generic("POST", "/account/login/", b"%" * length, form)

    assert run(django_handler, request.environ)[0][:3] == status


@pytest.mark.parametrize(
    "path",
    [
        *("/api/v1/otp/send", "/api/v1/messages/1", "/api/nothing", "/account/login/", "/admin/"),
        *("/hooks/whatsapp", "/hooks/twilio", "/hooks/sandbox-gateway", "/hooks/nothing"),
        *(f"{dialect.path}/nothing" for dialect in dialects().values()),
        *(f"{PATH}/{kind}/nothing" for kind in [*kinds(), "nothing"]),
    ],
)
def test_refusal_keeps_no_frames_of_its_callers(django_handler: WSGIHandler, path: str) -> None:
    """A traceback within a cycle would keep the gateway's frames, and so the connection of a body
    that was not received, until the collector runs: strangers could take all that there are.
    """
    direct = DirectCalls(django_handler, FIXED_PATHS)

    def serve() -> tuple[str, weakref.ref[BytesIO]]:
        protocol = BytesIO()  # a local of a caller, as granian's is
        status, *_ = respond(direct, "POST", path, b"{}")
        return status, weakref.ref(protocol)

    serve()  # what the first request keeps
    gc.disable()
    try:
        status, freed = serve()
        assert (status[0], freed()) == ("4", None)
    finally:
        gc.enable()


def test_defect_of_a_view_is_answered_as_by_django(
    api: Api,
    both: tuple[Any, Any],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(SendCode, "dispatch", fail)

    responses = [
        respond(application, "POST", "/api/v1/otp/send", b"{}", **api.headers)
        for application in both
    ]

    assert responses[0] == responses[1]
    assert responses[0][0].startswith("500")
    logged = [(record.name, record.levelname) for record in caplog.records]
    assert logged == [("django.request", "ERROR")] * 2


def test_connection_is_given_back(api: Api, direct: DirectCalls) -> None:
    with CaptureQueriesContext(connection):
        respond(direct, "GET", "/api/v1/balance", b"", **api.headers)

    assert connections["default"].connection is None


def test_signals_of_a_request_do_nothing_else() -> None:
    """A new receiver would miss direct calls: call it in `DirectCalls` as well."""
    names = {
        receiver.__qualname__
        for signal in (signals.request_started, signals.request_finished)
        for receiver in signal._live_receivers(WSGIHandler)[0]
    }

    assert names == {"reset_queries", "close_old_connections", "close_caches", "reset_urlconf"}
