"""GET /otp, GET /otp/{id} and DELETE /otp/{id}, declared."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.utils.translation import gettext_lazy as _

from accounts.models import Scope
from api.calls import (
    CURSOR,
    HAS_MORE,
    LIMIT,
    NEXT_CURSOR,
    TEST,
    Call,
    Field,
    Fields,
    Shape,
    array,
    choice,
    integer,
    mapping,
    nullable,
    text,
    time,
)
from catalogue.errors import Error
from catalogue.ids import public_id
from channels.web.fields import MESSAGE_ID, STATUS, USED_CHANNEL
from channels.web.message_fields import CREATED, NUMBER
from otp.verifications import FoundVerification, State
from otp.web.calls import PURPOSE, VERIFICATION_ID
from parsing import clipboard

STATES = choice([state.value for state in State], "VerificationState")

SENT_MESSAGE = Shape(
    "VerificationMessage",
    (
        MESSAGE_ID,
        USED_CHANNEL,
        STATUS,
        Field(
            "error",
            nullable(text()),
            _("The error code, if the message was not delivered."),
            None,
            source=lambda message: message.error or None,
        ),
        CREATED,
        Field(
            "sent_at",
            nullable(time()),
            _("When the message was sent to the provider."),
            "2026-11-20T10:15:13Z",
            source="sent_at",
        ),
        Field(
            "delivered_at",
            nullable(time()),
            _("When the message was delivered."),
            "2026-11-20T10:15:14Z",
            source="delivered_at",
        ),
    ),
)


def _of(attribute: str) -> Callable[[FoundVerification], Any]:
    """Empty as null."""
    return lambda row: getattr(row, attribute) or None


VERIFICATION_DETAILS = Shape(
    "VerificationDetails",
    (
        replace(VERIFICATION_ID, source=lambda row: public_id("otp", row.id)),
        NUMBER,
        replace(
            PURPOSE,
            schema=text(),
            description=_("What the code is for."),
            example="verification",
            required=True,
            source="purpose",
        ),
        Field(
            "state",
            STATES,
            _(
                "`pending`: the code can be entered; `verified`; `expired`; `cancelled`; "
                "`superseded`: a newer code for the same number and purpose replaced it; "
                "`exhausted`: no attempts are left."
            ),
            "pending",
            source="state",
        ),
        Field(
            "attempts_left",
            integer(0),
            _("The number of attempts left to enter this code; 0 once it is not `pending`."),
            settings.CODE_ATTEMPTS,
            source="attempts_left",
        ),
        Field(
            "created_at",
            time(),
            _("When the verification was created."),
            "2026-11-20T10:15:12Z",
            source="created_at",
        ),
        Field(
            "expires_at",
            time(),
            _("When the code expires."),
            "2026-11-20T10:20:12Z",
            source="expires_at",
        ),
        Field(
            "verified_at",
            nullable(time()),
            _("When the code was verified, in UTC."),
            None,
            source="verified_at",
        ),
        Field(
            "reference",
            nullable(text()),
            _("Your own reference, as the last send of this code named it."),
            None,
            source=_of("reference"),
        ),
        Field(
            "metadata",
            nullable(mapping()),
            _("Your own strings, as the last send of this code named them."),
            None,
            source=_of("metadata"),
        ),
        Field(
            "bind",
            nullable(mapping()),
            _("The payment or the document that the code agrees to, as it was sent."),
            None,
            source=_of("binding"),
        ),
        Field(
            "messages",
            array(),
            _("The messages that carried the code, oldest first."),
            fields=SENT_MESSAGE,
            source=lambda row: [SENT_MESSAGE.body_of(message) for message in row.messages],
        ),
        TEST,
    ),
)

WITH_PHONE = Field(
    "phone",
    text(),
    _("Only verifications of this phone number, in any format."),
    required=False,
    reading=clipboard.plain,
)
WITH_PURPOSE = Field("purpose", text(), _("Only those with this purpose."), required=False)
WITH_REFERENCE = Field(
    "reference",
    text(),
    _("Only those with a message that has exactly this reference."),
    required=False,
)
IN_STATE = Field("state", STATES, _("Only those in this state."), required=False)


def _rows(fields: Fields) -> Field:
    return Field("data", array(), _("The verifications, newest first."), fields=fields)


LIST_VERIFICATIONS = Call(
    "GET",
    "/otp",
    "listVerifications",
    _("List verifications"),
    _("Lists the company's verifications in the key's mode, each with its messages."),
    Scope.OTP,
    message=_("Verifications"),
    query=(WITH_PHONE, WITH_PURPOSE, WITH_REFERENCE, IN_STATE, LIMIT, CURSOR),
    answer=(_rows(VERIFICATION_DETAILS), HAS_MORE, NEXT_CURSOR),
    refusals=(Error.INVALID_INPUT, Error.INVALID_PHONE),
)
GET_VERIFICATION = Call(
    "GET",
    "/otp/{id}",
    "getVerification",
    _("Retrieve a verification"),
    _("Returns a verification with its state and its messages, never the code."),
    Scope.OTP,
    message=_("Verification"),
    answer=VERIFICATION_DETAILS,
    refusals=(Error.NOT_FOUND,),
)
CANCEL_VERIFICATION = Call(
    "DELETE",
    "/otp/{id}",
    "cancelVerification",
    _("Cancel a verification"),
    _(
        "Makes the code worthless at once: no channel sends it any more, and links that live as "
        "long as the code end. Tokens held for a message that no provider has are returned. One "
        "that is over already stays as it is."
    ),
    Scope.OTP,
    message=_("The code is no longer valid"),
    answer=VERIFICATION_DETAILS,
    own_example={"state": "cancelled", "attempts_left": 0},
    refusals=(Error.NOT_FOUND, Error.CODE_USED),
)

GET_EVIDENCE = Call(
    "GET",
    "/otp/{id}/evidence",
    "getEvidence",
    _("Download the evidence"),
    _(
        "Returns one record of who agreed to what and when: the company, the number, what was "
        "shown, the payment or the document, the messages, the times and the number of attempts."
    ),
    Scope.OTP,
    message=_("Evidence"),
    answer=(
        Field(
            "record",
            mapping() | {"additionalProperties": True},
            _("The record. Texts of messages have `•` in place of the code."),
            {"verification": "otp_0192f0c1a6d97c1d8e2f3a4b5c6d7e8f", "state": "verified"},
        ),
        Field(
            "sha256",
            text(pattern="^[0-9a-f]{64}$"),
            _("SHA-256 of `record` as UTF-8 JSON with sorted names and without spaces."),
            "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        ),
    ),
    refusals=(Error.NOT_FOUND,),
)

CALLS = (LIST_VERIFICATIONS, GET_VERIFICATION, CANCEL_VERIFICATION, GET_EVIDENCE)
