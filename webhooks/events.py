"""Events for companies: their declarations, and the outbox that one statement appends them to.

Each package declares its events at start. The statement runs in the transaction that causes the
event, adds deliveries to subscribed endpoints, and writes nothing without a subscriber. The
dispatcher delivers each event at least once, always with the same id.
"""

import threading
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import orjson
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.models import Mode, Scope
from api.calls import TEST, Field, Shape, boolean
from catalogue.ids import uuid7
from catalogue.texts import StrOrPromise
from storage.statements import sql_files
from storage.statements.queries import execute
from webhooks.models import EventKind

EXAMPLE_PHONE = "+79990000000"
IS_EXAMPLE = Field(
    "example", boolean(), _("`true` in example events; absent from real events."), required=False
)


@dataclass(frozen=True, slots=True, eq=False)
class EventDeclaration:
    """Events with the same fields. The package's SQL writes them; a test compares the names."""

    name: str  # of the OpenAPI component
    kinds: Mapping[EventKind, StrOrPromise]  # kind → what happened
    fields: tuple[Field, ...]
    # Example data for a kind, a hexadecimal id and a time.
    example: Callable[[EventKind, str, datetime], dict[str, Any]]
    # The scope that receiving these events requires. Events about messages require none: otherwise
    # a deployment's key, which only registers endpoints, would need access to the whole history.
    scope: Scope | None = None

    @property
    def data(self) -> Shape:
        return Shape(f"{self.name}Data", (*self.fields, TEST, IS_EXAMPLE))


_declarations: dict[EventKind, EventDeclaration] = {}


def declare(*declarations: EventDeclaration) -> None:
    for declaration in declarations:
        _declarations.update(dict.fromkeys(declaration.kinds, declaration))


def declaration_of(kind: EventKind) -> EventDeclaration:
    return _declarations[kind]


def in_declared_order(kind: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """Fields in the documented order, which `jsonb` does not preserve."""
    declaration = _declarations.get(EventKind(kind)) if kind in EventKind else None
    names = [field.name for field in declaration.data] if declaration else []
    return {name: data[name] for name in names if name in data} | dict(data)


def kinds_for(scopes: Collection[str]) -> list[str]:
    """The kinds of events that somebody with these scopes may receive."""
    needed = {kind: _declarations[kind].scope for kind in EventKind}
    return [kind.value for kind, scope in needed.items() if scope is None or scope in scopes]


def kinds_withdrawn(kinds: Collection[str]) -> list[str]:
    """The restricted kinds to which an endpoint with these kinds no longer subscribes.

    Somebody who must not receive them may have changed its URL since.
    """
    return [kind.value for kind in EventKind if _declarations[kind].scope and kind not in kinds]


def declarations() -> list[EventDeclaration]:
    """The declarations in the order of their kinds."""
    return list(dict.fromkeys(_declarations[kind] for kind in EventKind))


def iso(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


# Set after this process commits deliveries; its webhook dispatcher, if any, waits for it.
new_deliveries = threading.Event()


def iso_sql(column: str) -> str:
    """SQL that formats a time as the API does."""
    return f"""to_char({column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')"""


def has_endpoint_sql(row: str) -> str:
    """The SQL condition that the company and mode of a row have an enabled endpoint.

    Most companies have none, so no event needs to be built.
    """
    return f"""EXISTS (
         SELECT FROM webhooks_endpoint endpoint WHERE endpoint.company_id = {row}.company_id
           AND endpoint.mode = {row}.mode AND endpoint.disabled_at IS NULL
           AND endpoint.deleted_at IS NULL)"""


def origin_sql(url: str) -> str:
    """SQL of the scheme, host and port of a URL from `egress.parse_url`; NULL for other URLs."""
    return f"substring({url} FROM '^[^/]+//[^/]+')"


def _append(happened: str) -> dict[str, str]:
    return sql_files.read_several(
        "webhooks/append.sql",
        happened=happened,
        endpoint_origin=origin_sql("endpoint.url"),
        callback_origin=origin_sql("happened.callback ->> 'url'"),
    )


def append_sql(happened: str, *, has_callback: bool = False) -> str:
    """CTEs and a final INSERT that append the rows selected by `happened`; see `append.sql`.

    The row count is the number of deliveries.
    """
    return _append(happened)["append_with_callbacks" if has_callback else "append"]


_APPEND_ONE = _append(happened="")["append_one"]


def emit(
    *,
    company_id: int,
    mode: str,
    kind: str,
    data: Mapping[str, Any],
    key: str,
    at: datetime | None = None,
) -> None:
    """Appends an event in the caller's transaction; at most one per kind and `key`.

    Decimals become strings, and times ISO 8601 in UTC, as everywhere in the API.
    """
    fields = {**data, "test": mode == Mode.TEST}
    params: dict[str, Any] = {
        "id": uuid7(),
        "company_id": company_id,
        "mode": mode,
        "kind": kind,
        "key": key,
        "data": orjson.dumps(fields, default=str, option=orjson.OPT_UTC_Z).decode(),
        "at": at or timezone.now(),
    }
    wake_dispatcher(execute(_APPEND_ONE, params))


def wake_dispatcher(deliveries: int) -> None:
    """Wakes the webhook dispatcher of this process after the commit."""
    if deliveries > 0:
        transaction.on_commit(new_deliveries.set)
