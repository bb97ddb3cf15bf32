"""What an event carries, kind by kind, as the schema has it."""

from dataclasses import dataclass, replace

from django.utils.translation import gettext_lazy as _

from accounts.api.common_fields import TEST
from accounts.api.fields import Field, Fields, Shape, boolean, identifier, integer, text, time
from accounts.models import EventKind
from billing.web.calls import ORDER
from channels.web.message_fields import MESSAGE, NUMBER
from config.texts import StrOrPromise
from links.api.fields import LINK_ID, SHORTENED_URL, TARGET
from otp.web.calls import PURPOSE, VERIFICATION_ID, VERIFIED_AT

IS_EXAMPLE = Field(
    "example",
    boolean(),
    _("`true` in an example that was asked for; real events have no such field."),
    required=False,
)


def _data(name: str, *fields: Field) -> Shape:
    return Shape(name, (*fields, TEST, IS_EXAMPLE))


def _chosen(fields: Fields, *names: str) -> list[Field]:
    return [field for field in fields if field.name in names]


def _count(name: str, words: StrOrPromise) -> Field:
    return Field(name, integer(0), words)


MESSAGE_DATA = _data(
    "MessageEventData", *(one for one in MESSAGE if one.name not in {"read_at", "test"})
)
VERIFICATION_DATA = _data(
    "VerificationEventData",
    VERIFICATION_ID,
    NUMBER,
    replace(PURPOSE, schema=text(), required=True),
    VERIFIED_AT,
)
CLICK_DATA = _data(
    "LinkClickEventData",
    LINK_ID,
    SHORTENED_URL,
    TARGET,
    _count(
        "clicks",
        _("Clicks by people in all, as in `GET /links/{id}`."),
    ),
    _count(
        "new_clicks",
        _("How many of them are new: those that this event tells of."),
    ),
    Field("clicked_at", time(), _("The last of them.")),
)
BALANCE_DATA = _data(
    "BalanceEventData",
    _count("available", _("The tokens that are left.")),
    _count("threshold", _("The threshold of the settings.")),
)
TOP_UP_DATA = _data(
    "TopUpEventData",
    *_chosen(ORDER, "id", "status", "tokens", "amount", "currency", "paid_at"),
)

EVENT = Shape(
    "Event",
    (
        Field(
            "id",
            identifier("evt"),
            _("The event's id, also in the header `webhook-id`. Retries do not change it."),
        ),
        Field(
            "type",
            text(),
            _("What happened. New types will come."),
        ),
        Field("timestamp", time(), _("When it happened.")),
    ),
)


@dataclass(frozen=True, slots=True)
class Payload:
    """An event of some kinds and the data they carry."""

    name: str
    data: Shape
    kinds: tuple[EventKind, ...]

    @property
    def shape(self) -> Shape:
        kinds = [kind.value for kind in self.kinds]
        return Shape(
            self.name,
            (
                Field("type", text(enum=kinds), _("What happened.")),
                Field("data", {"type": "object"}, ABOUT_WHAT, fields=self.data),
            ),
            base=EVENT,
        )


ABOUT_WHAT = _("What it happened to.")
PAYLOADS = (
    Payload(
        "MessageEvent",
        MESSAGE_DATA,
        (
            EventKind.MESSAGE_SENT,
            EventKind.MESSAGE_DELIVERED,
            EventKind.MESSAGE_FAILED,
            EventKind.MESSAGE_EXPIRED,
        ),
    ),
    Payload("VerificationEvent", VERIFICATION_DATA, (EventKind.OTP_VERIFIED,)),
    Payload("LinkClickEvent", CLICK_DATA, (EventKind.LINK_CLICKED,)),
    Payload("BalanceEvent", BALANCE_DATA, (EventKind.BALANCE_LOW,)),
    Payload("TopUpEvent", TOP_UP_DATA, (EventKind.TOP_UP_PAID,)),
)
BY_KIND = {kind: payload for payload in PAYLOADS for kind in payload.kinds}
