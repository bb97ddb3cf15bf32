"""A company's own searchable texts, stored with a message; each is declared once.

The calls, responses, webhooks, filters, files and erasures read this. A text also has a column with
an index in `channels.models.Message`, is written by `otp/send/send.sql` and `links/make/send.sql`,
and is an attribute of the requests whose sends take it.
"""

from dataclasses import dataclass

from django.utils.translation import gettext_lazy as _

from api.calls import Field, nullable, option, text
from api.request_fields import RequestFields
from catalogue.texts import StrOrPromise


@dataclass(frozen=True, slots=True)
class StoredField:
    name: str  # also the name of the column
    kinds: tuple[str, ...]  # of messages whose sends take it
    title: StrOrPromise  # in the cabinet and its files
    sent: Field
    shown: Field
    filter: Field


REFERENCE = StoredField(
    "reference",
    ("code",),
    _("Reference"),
    option(
        "reference",
        text(maxLength=64),
        _(
            "Your own reference, such as an order number. Messages and verifications can be found "
            "by it, and webhooks and exports show it."
        ),
    ),
    Field("reference", nullable(text()), _("Your own reference, as the send named it.")),
    Field(
        "reference",
        text(maxLength=64),
        _("Only messages with exactly this reference."),
        required=False,
    ),
)
FIELDS = (REFERENCE,)
NAMES = tuple(field.name for field in FIELDS)
EMPTIED = ", ".join(f"{name} = ''" for name in NAMES)  # for UPDATE


def of_kind(kind: str) -> tuple[StoredField, ...]:
    return tuple(field for field in FIELDS if kind in field.kinds)


def parse(fields: RequestFields, kind: str) -> dict[str, str]:
    """The texts of a send; empty where left out."""
    return {field.name: fields.text(field.sent) or "" for field in of_kind(kind)}


def of_request(request: object, kind: str) -> dict[str, str]:
    """The texts of a parsed request; empty where its kind takes none."""
    return {
        field.name: getattr(request, field.name) if kind in field.kinds else "" for field in FIELDS
    }
