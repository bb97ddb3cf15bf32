"""Declares GET /persons/export and POST /persons/erase."""

from dataclasses import replace

from django.utils.translation import gettext_lazy as _

from accounts.models import Scope
from api.calls import Call, Field, Schema, Shape, array, integer, text, time
from catalogue.errors import Error
from channels.web.fields import PHONE, UNDERSTOOD_PHONE
from parsing import clipboard

ROWS: Schema = {"type": "object", "additionalProperties": array({"type": "object"})}
PERSON = Field(
    "phone",
    text(),
    _("The phone number, in any format."),
    "+79990000000",
    normalise=clipboard.plain,
)

EXPORT = Call(
    "GET",
    "/persons/export",
    "exportPerson",
    _("Export a person's data"),
    _(
        "Returns everything the service stores about a phone number for the company, in the key's "
        "mode, to answer a request for access under GDPR art. 15 or 152-FZ art. 14."
    ),
    Scope.PERSONS,
    message=_("Personal data"),
    query=(PERSON,),
    response=(
        UNDERSTOOD_PHONE,
        Field("exported_at", time(), _("When the data was exported."), "2026-11-23T10:15:12Z"),
        Field(
            "data",
            ROWS,
            _(
                "Arrays of stored rows by kind: messages, attempts, receipts, verifications, "
                "links, clicks, events and so on. New kinds and fields may be added."
            ),
            {"messages": [{"id": "msg_0192f0c1a6d87b3e9c4f5a6b7c8d9e0f", "channel": "sms"}]},
        ),
    ),
    refusals=(Error.INVALID_INPUT, Error.INVALID_PHONE),
    is_audited=True,
)


def _count(name: str, example: int) -> Field:
    return Field(name, integer(0), _("The number of rows that were anonymized."), example)


ERASED = Shape(
    "ErasedRows", (_count("messages", 4), _count("verifications", 2), _count("links", 1))
)
ERASE = Call(
    "POST",
    "/persons/erase",
    "erasePerson",
    _("Erase a person's data"),
    _(
        "Erases what the service stores about a phone number for the company, in the key's mode. "
        "Messages stay in the history without the number and the text; links sent to it, or with "
        "it in their target, stop working. A reference that is the number goes from messages to "
        "others, too; do not put a person's number within longer references or into `metadata` of "
        "a message to somebody else. Refused while a message is in progress, a code can be "
        "entered, wrong codes of the last 24 hours limit guessing, or a code that nobody entered "
        "was delivered within two minutes."
    ),
    Scope.PERSONS,
    message=_("The data was erased"),
    body=(replace(PHONE, description=PERSON.description),),
    response=(Field("erased", {"type": "object"}, _("What was erased."), fields=ERASED),),
    refusals=(Error.INVALID_INPUT, Error.INVALID_PHONE, Error.PERSON_BUSY),
    is_audited=True,
)

CALLS = (EXPORT, ERASE)
