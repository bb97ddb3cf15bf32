"""One send is one trace, received by a real OTLP receiver; off, nothing is imported."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from uuid import uuid4

import pytest
import responses
from django.core.exceptions import ImproperlyConfigured
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from pytest_django import Settings

from catalogue.ids import parse_id, uuid7
from channels.deliver.dispatcher import Dispatcher
from channels.models import Attempt, Receipt
from channels.outcomes import inbound_receipts
from channels.providers import inbound
from channels.providers.inbound import InboundEvents, ReceiptState
from config.environment import monitoring_settings
from config.environment.monitoring_settings import Tracing
from config.environment.variables import ROOT
from processes.monitoring import tracing
from tests.api.clients import Api
from tests.config.starting import GOOD, start
from tests.links.visiting import wait_until

PHONE = "+79161234567"
THEIRS = "00-" + "ab" * 16 + "-" + "cd" * 8 + "-01"


class _Receiver(BaseHTTPRequestHandler):
    def __init__(self, calls: list[tuple[str, dict[str, str], bytes]], *args: Any) -> None:
        self.calls = calls
        super().__init__(*args)

    def log_message(self, *_args: object) -> None:
        return

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.calls.append((self.path, dict(self.headers), body))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()


def shut_down() -> None:
    """Sends the remaining spans; the next span creates a new provider."""
    if tracing._provider.cache_info().currsize:
        provider, _ids = tracing._provider()
        provider.shutdown()
        tracing._provider.cache_clear()


class Collector:
    def __init__(self) -> None:
        self.calls: list[tuple[str, dict[str, str], bytes]] = []

    def spans(self) -> list[Any]:
        """The spans received, once this process has sent all it has."""
        shut_down()
        return [
            span
            for _path, _headers, body in self.calls
            for resource in ExportTraceServiceRequest.FromString(body).resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]


@pytest.fixture
def collector(settings: Settings) -> Iterator[Collector]:
    collector = Collector()
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Receiver, collector.calls))
    thread = Thread(target=server.serve_forever, args=[0.01])
    thread.start()
    url = f"http://127.0.0.1:{server.server_address[1]}"
    settings.TRACING = Tracing(url, {"x-collector-key": "k"}, "kvitok", 1.0)
    shut_down()
    yield collector
    shut_down()
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def twilio(settings: Settings) -> Iterator[None]:
    account = settings.PROVIDER_ACCOUNTS["twilio"]
    url = f"{account['api_url']}/2010-04-01/Accounts/{account['account_sid']}"
    with responses.RequestsMock(assert_all_requests_are_fired=False) as wire:
        wire.add_passthru("http://127.0.0.1")
        wire.post(f"{url}/Messages.json", json={"sid": "SM1", "status": "queued"}, status=201)
        yield


def by_name(spans: list[Any]) -> dict[str, Any]:
    return {span.name: span for span in spans}


def attributes(span: Any) -> dict[str, Any]:
    return {
        attribute.key: attribute.value.string_value or attribute.value.int_value
        for attribute in span.attributes
    }


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("dispatcher", "twilio")
def test_one_send_is_one_trace_from_the_request_to_the_receipt(
    api: Api, collector: Collector, dispatcher: Dispatcher
) -> None:
    response = api.post("/otp/send", {"phone": PHONE, "channel": "sms"}, traceparent=THEIRS)
    attempt = Attempt.objects.get()
    receipt = inbound.Receipt(
        provider_id="SM1",
        ref=str(attempt.id),
        state=ReceiptState.DELIVERED,
        vendor_status="delivered",
        at=None,
    )
    inbound_receipts.store("twilio", [InboundEvents(b"", receipts=[receipt])])
    wait_until(lambda: Receipt.objects.filter(applied_at__isnull=False).exists())
    dispatcher.stop()
    wait_until(lambda: "delivery" not in {thread.name for thread in threading.enumerate()})

    spans = collector.spans()

    result = by_name(spans)
    assert set(result) == {"POST /api/v1/otp/send", "commit", "claim", "send twilio", "receipt"}
    message_id = parse_id("msg", response.body["id"])
    assert message_id is not None
    expected = tracing.trace_id(message_id).to_bytes(16, "big")
    assert {span.trace_id for span in spans} == {expected}
    request = result["POST /api/v1/otp/send"]
    call = result["send twilio"]
    assert request.parent_span_id == b""
    assert [link.trace_id for link in request.links] == [bytes.fromhex("ab" * 16)]
    assert result["commit"].parent_span_id == result["claim"].parent_span_id == request.span_id
    assert call.parent_span_id == result["claim"].span_id
    assert result["receipt"].parent_span_id == call.span_id
    assert attributes(request)["http.response.status_code"] == 200
    assert {attributes(span)["kvitok.message.id"] for span in spans} == {response.body["id"]}
    assert all(span.start_time_unix_nano <= span.end_time_unix_nano for span in spans)


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("dispatcher", "twilio")
def test_no_phone_code_or_key_is_exported(api: Api, collector: Collector) -> None:
    api.post("/otp/send", {"phone": PHONE, "channel": "sms"})
    collector.spans()

    ((path, headers, _body),) = collector.calls
    sent = b"".join(body for _path, _headers, body in collector.calls)
    assert path == "/v1/traces"
    assert headers["x-collector-key"] == "k"
    assert PHONE[1:].encode() not in sent
    assert api.headers["Authorization"].split()[1].encode() not in sent
    assert b"kvitok.provider" in sent


@pytest.mark.django_db(transaction=True)
def test_call_that_makes_no_message_makes_no_trace(api: Api, collector: Collector) -> None:
    api.get("/balance")
    api.post("/otp/send", {"phone": "no phone"})

    assert collector.spans() == []


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("queued_at_once")
def test_absent_receiver_loses_no_message(api: Api, settings: Settings) -> None:
    settings.TRACING = replace(settings.TRACING, endpoint="http://127.0.0.1:1")

    assert api.post("/otp/send", {"phone": PHONE, "channel": "sms"}).status == 200
    shut_down()


def test_sampling_decides_alike_for_all_spans_of_a_message(
    collector: Collector, settings: Settings
) -> None:
    settings.TRACING = replace(settings.TRACING, ratio=0.5)
    for _ in range(200):
        message_id = uuid7()
        attempt_id = uuid4()
        provider = {"kvitok.provider": "twilio"}
        tracing.record_claim(message_id, attempt_id, 1, provider)
        tracing.record_call(message_id, attempt_id, 0.1, provider, ok=False)

    spans = collector.spans()

    names: dict[bytes, list[str]] = {}
    for span in spans:
        names.setdefault(span.trace_id, []).append(span.name)
    assert 60 < len(names) < 140
    assert all(sorted(name) == ["claim", "send twilio"] for name in names.values())


def test_tracing_switched_off_imports_no_package() -> None:
    program = (
        "import sys; sys.modules['opentelemetry'] = None;"  # as if it were not installed
        "import django; django.setup(); from processes.monitoring import tracing;"
        "assert tracing.start() == 0;"
        "tracing.begin_request(); tracing.record_request('x', 1.0, {}, '');"
        "from channels.deliver import dispatcher;"
        "from api import base_view; from channels.outcomes import due_receipts;"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", program],
        cwd=ROOT,
        env=GOOD | {"DJANGO_SETTINGS_MODULE": "config.settings"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")


def test_endpoint_without_the_packages_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(monitoring_settings, "find_spec", lambda _name: None)

    assert monitoring_settings._endpoint("") == ""
    with pytest.raises(ImproperlyConfigured, match=r"requirements/otel\.txt"):
        monitoring_settings._endpoint("http://127.0.0.1:4318")


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318", "must be http://"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "s3cret", "must be name=value"),
        ("OTEL_TRACES_SAMPLER_ARG", "1.5", "a number from 0 to 1"),
        ("OTEL_TRACES_SAMPLER_ARG", "many", "a number from 0 to 1"),
    ],
)
def test_setting_that_cannot_work_is_refused(name: str, value: str, text: str) -> None:
    refused = start(**{name: value})

    assert refused.returncode != 0
    assert text in refused.stderr
    assert "s3cret" not in refused.stderr
