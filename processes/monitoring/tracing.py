"""OpenTelemetry: a trace per message, from the request to the receipt.

Tracing is off, without an import, unless OTEL_EXPORTER_OTLP_ENDPOINT is set. No context is passed
along with a message. The ids of its trace and of parent spans are derived from its id, so each
process can compute them: nothing is stored, and a receipt a week later still joins the trace. Spans
are recorded when they end.

Attributes name accounts, channels, states and codes of vendors; never a phone, a text or a key.
"""

import re
import threading
import time
from collections.abc import Mapping
from contextvars import ContextVar
from functools import cache
from hashlib import sha256
from typing import Any
from uuid import UUID

import structlog
from django.conf import settings

from catalogue.ids import public_id

log = structlog.get_logger(__name__)

EXPORT_TIMEOUT = 3  # seconds
Attributes = Mapping[str, str | int | float | bool]
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?")
_accepted: ContextVar[UUID | None] = ContextVar("accepted_message", default=None)


def is_on() -> bool:
    return bool(settings.TRACING.endpoint)


def trace_id(message_id: UUID) -> int:
    """The id of a message's trace: a hash of the message's id.

    A UUIDv7 begins with a time, and samplers take the low half as random.
    """
    return _derive(b"trace", message_id, 16)


def _derive(purpose: bytes, row_id: UUID, size: int) -> int:
    return int.from_bytes(sha256(purpose + row_id.bytes).digest()[:size], "big")


def start() -> int:
    """The time in nanoseconds, or 0 if tracing is off."""
    return time.time_ns() if is_on() else 0


def record_commit(message_id: UUID, started: int) -> None:
    """Records a message's commit, and the message for `record_request`."""
    _accepted.set(message_id)
    attributes = {"db.system.name": "postgresql"}
    _record(message_id, "commit", started, parent=b"request", attributes=attributes)


def begin_request() -> None:
    if is_on():
        _accepted.set(None)


def record_request(name: str, seconds: float, attributes: Attributes, traceparent: str) -> None:
    """Records the root span if the request created a message; links the caller's own trace."""
    if not is_on() or (message_id := _accepted.get()) is None:
        return
    _accepted.set(None)
    started = time.time_ns() - int(seconds * 1e9)
    _record(
        message_id,
        name,
        started,
        kind="SERVER",
        span=(b"request", message_id),
        attributes=attributes,
        traceparent=traceparent,
    )


def record_claim(message_id: UUID, attempt_id: UUID, started: int, attributes: Attributes) -> None:
    span = (b"claim", attempt_id)
    _record(message_id, "claim", started, span=span, parent=b"request", attributes=attributes)


def record_call(
    message_id: UUID, attempt_id: UUID, seconds: float, attributes: Attributes, *, ok: bool
) -> None:
    _record(
        message_id,
        f"send {attributes['kvitok.provider']}",
        time.time_ns() - int(seconds * 1e9),
        kind="CLIENT",
        span=(b"call", attempt_id),
        parent=b"claim",
        parent_of=attempt_id,
        attributes=attributes,
        ok=ok,
    )


def record_receipt(
    message_id: UUID, attempt_id: UUID, started: int, attributes: Attributes
) -> None:
    _record(
        message_id,
        "receipt",
        started,
        kind="CONSUMER",
        parent=b"call",
        parent_of=attempt_id,
        attributes=attributes,
    )


def _record(message_id: UUID, name: str, started: int, **options: Any) -> None:
    try:
        _export(message_id, name, started, **options)
    except Exception as error:  # tracing must never fail a message
        log.warning("span_not_recorded", span=name, error=type(error).__name__)


def _export(
    message_id: UUID,
    name: str,
    started: int,
    *,
    attributes: Attributes,
    kind: str = "INTERNAL",
    span: tuple[bytes, UUID] | None = None,
    parent: bytes | None = None,
    parent_of: UUID | None = None,
    traceparent: str = "",
    ok: bool = True,
) -> None:
    from opentelemetry import trace  # noqa: PLC0415 - only where tracing is on

    provider, ids = _provider()
    ids.trace = trace_id(message_id)
    ids.span = _derive(*span, 8) if span else None
    recorded = provider.get_tracer("kvitok").start_span(
        name,
        context=_parent(ids.trace, parent, parent_of or message_id),
        kind=trace.SpanKind[kind],
        attributes={"kvitok.message.id": public_id("msg", message_id), **attributes},
        links=_links(traceparent),
        start_time=started,
    )
    if not ok:
        recorded.set_status(trace.StatusCode.ERROR)
    recorded.end()


def _parent(trace_of: int, purpose: bytes | None, row_id: UUID) -> Any:
    """A context with the parent's derived id; an empty one for the root."""
    from opentelemetry import trace  # noqa: PLC0415
    from opentelemetry.context import Context  # noqa: PLC0415

    if purpose is None:
        return Context()
    flags = trace.TraceFlags(trace.TraceFlags.SAMPLED)
    parent = trace.SpanContext(
        trace_of, _derive(purpose, row_id, 8), is_remote=True, trace_flags=flags
    )
    return trace.set_span_in_context(trace.NonRecordingSpan(parent), Context())


def _links(traceparent: str) -> list[Any]:
    from opentelemetry import trace  # noqa: PLC0415

    if not (match := _TRACEPARENT.fullmatch(traceparent)):
        return []
    flags = trace.TraceFlags(int(match[3], 16))
    theirs = trace.SpanContext(
        int(match[1], 16), int(match[2], 16), is_remote=True, trace_flags=flags
    )
    return [trace.Link(theirs)] if theirs.is_valid else []


class _Ids(threading.local):
    """The ids of the next span of this thread."""

    trace = 0
    span: int | None = None


@cache
def _provider() -> tuple[Any, _Ids]:
    """The provider of spans, created at the first span: each process has its own exporter."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # noqa: PLC0415
        OTLPSpanExporter,
    )
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
    from opentelemetry.sdk.trace.id_generator import RandomIdGenerator  # noqa: PLC0415
    from opentelemetry.sdk.trace.sampling import TraceIdRatioBased  # noqa: PLC0415

    ids = _Ids()

    class DerivedIds(RandomIdGenerator):
        def generate_trace_id(self) -> int:
            return ids.trace

        def generate_span_id(self) -> int:
            return super().generate_span_id() if ids.span is None else ids.span

    provider = TracerProvider(
        # By the trace's id alone, so that all processes decide alike.
        sampler=TraceIdRatioBased(settings.TRACING.ratio),
        id_generator=DerivedIds(),
        resource=Resource.create({"service.name": settings.TRACING.service_name}),
    )
    exporter = OTLPSpanExporter(
        endpoint=f"{settings.TRACING.endpoint}/v1/traces",
        headers=settings.TRACING.headers,
        timeout=EXPORT_TIMEOUT,
    )
    provider.add_span_processor(BatchSpanProcessor(exporter))
    return provider, ids
