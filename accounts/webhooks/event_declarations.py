"""What a company's webhooks carry: each package declares the events that it writes, at start."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext_lazy as _

from accounts.api.fields import TEST, Field, Shape, boolean
from accounts.models import EventKind, Scope
from config.texts import StrOrPromise

EXAMPLE_PHONE = "+79990000000"
IS_EXAMPLE = Field(
    "example",
    boolean(),
    _("`true` in example events; absent from real events."),
    required=False,
)


@dataclass(frozen=True, slots=True, eq=False)
class EventDeclaration:
    """Events with the same fields. The package's SQL writes them; a test compares the names."""

    name: str  # of the component in the schema
    kinds: Mapping[EventKind, StrOrPromise]  # with what happened
    fields: tuple[Field, ...]
    # The values of an example: of a kind, with this id in hexadecimal, at this time.
    example: Callable[[EventKind, str, datetime], dict[str, Any]]
    scope: Scope | None = None  # they are for those alone who may give a key this scope

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
    """As the documentation lists the fields; `jsonb` keeps no order of its own."""
    declaration = _declarations.get(EventKind(kind)) if kind in EventKind else None
    names = [field.name for field in declaration.data] if declaration else []
    return {name: data[name] for name in names if name in data} | dict(data)


def kinds_for(scopes: Collection[str]) -> list[str]:
    """What somebody with these scopes may be told."""
    needed = {kind: _declarations[kind].scope for kind in EventKind}
    return [kind.value for kind, scope in needed.items() if scope is None or scope in scopes]


def declarations() -> list[EventDeclaration]:
    """In the order of their kinds."""
    return list(dict.fromkeys(_declarations[kind] for kind in EventKind))


def iso(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")
