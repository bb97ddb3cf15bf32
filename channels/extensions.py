"""Functions that higher apps register at start: channels call them without an import."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol
from uuid import UUID

from django.db.models import Q

if TYPE_CHECKING:
    from catalogue.texts import StrOrPromise
    from channels.models import Message


@dataclass(frozen=True, slots=True)
class Rendered:
    """The text for the person, rendered just before the send, so no rendered text is stored."""

    text: str
    code: str | None = None
    short_url: str | None = None


class NotRenderableError(Exception):
    """The source of the message's text no longer exists."""


class WithdrawnError(NotRenderableError):
    """The code or link was withdrawn, so the message is useless on any channel."""


class Renderer(Protocol):
    """Renders a message's text; raises NotRenderableError."""

    def __call__(
        self, *, subject_id: UUID, params: Mapping[str, Any], locale: str, channel: str
    ) -> Rendered: ...


@dataclass(slots=True)
class StepCounts:
    """The numbers of messages that reached each step, as in `channels.models.DayBreakdown`."""

    requested: int = 0
    handed_over: int = 0
    delivered: int = 0
    linked: int = 0
    opened: int = 0
    codes: int = 0
    entered: int = 0
    charged: int = 0
    spent: int = 0
    returned: int = 0


@dataclass(slots=True, kw_only=True)
class BreakdownCount(StepCounts):
    """The steps reached by messages with one value of a dimension."""

    company_id: int
    mode: str
    dimension: str
    value: str  # for the dimension of countries the phone of one of the messages


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """An event of a message, its code or its link, as text for the message's page."""

    at: datetime
    title: "StrOrPromise"
    tone: str = ""  # success, warning, danger; empty: neutral
    detail: "StrOrPromise" = ""
    code: str = ""  # the vendor's code, for a support request
    advice: "StrOrPromise" = ""  # what to do about it
    after: int = 0  # ms since acceptance
    is_of_a_new_day: bool = True  # the first event of its day, shown with the date


# The key in `params` that marks the message of a custom code; a claim puts the sealed code there,
# which the renderer needs.
CUSTOM_CODE = "custom_code"


class BreakdownCounter(Protocol):
    """Counts messages created from `start` to `end`, by every dimension, and the tokens captured
    and released in that time. One value may have several rows.
    """

    def __call__(
        self, *, start: datetime, end: datetime, company_id: int | None, mode: str | None
    ) -> Iterable[BreakdownCount]: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageKind:
    """The functions of an app for its messages. Those with a default exist for codes only."""

    name: str  # a `Message.Kind`
    render: Renderer
    timeline: Callable[["Message"], Iterable[TimelineEntry]]
    opened_at: Callable[["Message"], datetime | None]  # when the recipient opened the link
    # Settles messages by other proofs, such as a correct code.
    settle: Callable[[], int] = lambda: 0
    # Reports to vendors, which may hang: runs alongside the polls.
    report: Callable[[], object] = lambda: None
    find_custom_codes: Callable[[Sequence[UUID]], Mapping[UUID, Any]] = lambda _messages: {}
    count_breakdowns: BreakdownCounter = lambda **_period: ()
    with_purpose: Callable[[str], Q] = lambda _purpose: Q(pk__in=[])


kinds: dict[str, MessageKind] = {}


def register(kind: MessageKind) -> None:
    kinds[kind.name] = kind
