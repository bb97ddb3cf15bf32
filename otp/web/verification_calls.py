"""The calls of sent codes: list, cancel, send by the next channel, report as entered."""

from dataclasses import replace

from django.conf import settings
from django.utils.translation import gettext_lazy as _

from accounts.models import Scope
from api.calls import (
    CURSOR,
    LIMIT,
    TEST,
    Call,
    Field,
    Shape,
    array,
    choice,
    integer,
    mapping,
    moment,
    nullable,
    option,
    page_of,
    text,
    time,
)
from catalogue import custom_codes
from catalogue.errors import Error
from channels.web.fields import SENT_REFUSALS
from channels.web.message_fields import MESSAGE, NUMBER
from channels.web.status_texts import status_text
from links.api.fields import SHORT_URL
from otp.verifications import State
from otp.web.calls import (
    CHALLENGE,
    CUSTOM_CODE_SCHEMA,
    DEVICE_ID,
    IP,
    PURPOSE,
    SEND_CODE,
    TRUSTED,
    VERIFICATION,
    VERIFICATION_ID,
    VERIFIED_PHONE,
)
from parsing import clipboard

STATES = choice([state.value for state in State], "VerificationState")

SENT = {"id", "channel", "status", "error", "created_at", "sent_at", "delivered_at"}
SENT_MESSAGE = Shape("VerificationMessage", tuple(field for field in MESSAGE if field.name in SENT))
VERIFICATION_DETAILS = Shape(
    "VerificationDetails",
    (
        VERIFICATION_ID,
        NUMBER,
        replace(
            PURPOSE,
            schema=text(),
            description=_("What the code is for."),
            example="verification",
            required=True,
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
        ),
        Field(
            "attempts_left",
            integer(0),
            _("The number of attempts left to enter this code; 0 once it is not `pending`."),
            settings.CODE_ATTEMPTS,
        ),
        Field(
            "created_at", time(), _("When the verification was created."), "2026-11-20T10:15:12Z"
        ),
        Field("expires_at", time(), _("When the code expires."), "2026-11-20T10:20:12Z"),
        moment("verified_at", _("When the code was verified, in UTC.")),
        Field(
            "reference",
            nullable(text()),
            _("Your own reference, as the last send of this code named it."),
        ),
        Field(
            "metadata",
            nullable(mapping()),
            _("Your own strings, as the last send of this code named them."),
        ),
        Field(
            "bind",
            nullable(mapping()),
            _("The payment or the document that the code agrees to, as it was sent."),
            source="binding",
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
    normalise=clipboard.plain,
)
WITH_PURPOSE = Field("purpose", text(), _("Only those with this purpose."), required=False)
WITH_REFERENCE = Field(
    "reference",
    text(),
    _("Only those with a message that has exactly this reference."),
    required=False,
)
IN_STATE = Field("state", STATES, _("Only those in this state."), required=False)


LIST_VERIFICATIONS = Call(
    "GET",
    "/otp",
    "listVerifications",
    _("List verifications"),
    _("Lists the company's verifications in the key's mode, each with its messages."),
    Scope.OTP,
    message=_("Verifications"),
    query=(WITH_PHONE, WITH_PURPOSE, WITH_REFERENCE, IN_STATE, LIMIT, CURSOR),
    response=page_of(VERIFICATION_DETAILS, _("The verifications, newest first.")),
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
    response=VERIFICATION_DETAILS,
    refusals=(Error.NOT_FOUND,),
)
CANCEL_VERIFICATION = Call(
    "DELETE",
    "/otp/{id}",
    "cancelVerification",
    _("Cancel a verification"),
    _(
        "Cancels the code at once: no channel sends it any more, and links that last as long "
        "as the code stop working. Tokens held for a message that no provider has are "
        "returned. A verification that has already ended does not change."
    ),
    Scope.OTP,
    message=_("The code is no longer valid"),
    response=VERIFICATION_DETAILS,
    example_values={"state": "cancelled", "attempts_left": 0},
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
    response=(
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

NEXT_CHANNEL = Call(
    "POST",
    "/otp/{id}/next",
    "sendByNextChannel",
    _("Send by the next channel"),
    _(
        "Sends the same code by the next channel now: “send it by SMS instead”. A message with "
        "a fallback chain takes its next step, as if its patience had ended; without one, the "
        "code is sent by the first channel of your order that has not carried it yet. The "
        "cool-down does not apply; attempts and expiry stay as they are. If no channel is "
        "left, the response is `channel_unavailable`."
    ),
    Scope.OTP,
    message=status_text("code", "sms", "queued"),
    body=(replace(IP, example="203.0.113.7"), DEVICE_ID, TRUSTED, CHALLENGE),
    response=SEND_CODE.response,
    example_values={
        "channel": "sms",
        "status": "queued",
        "cost": 16,
        "short_url": SHORT_URL.example,
    },
    refusals=(
        *SENT_REFUSALS,
        Error.NOT_FOUND,
        Error.CODE_EXPIRED,
        Error.CODE_USED,
        Error.RESEND_TOO_SOON,
        Error.TOO_MANY_ATTEMPTS,
        Error.CHALLENGE_REQUIRED,
    ),
)

REPORTED_ID = option(
    "id",
    text(pattern="^(msg|otp)_[0-9a-f]{32}$"),
    _("The `id` or the `verification` of the send, in place of `phone` and `code`."),
    error=_("The id of a message or of a verification, `msg_` or `otp_` and 32 digits"),
)
REPORTED_CODE = option(
    "code",
    CUSTOM_CODE_SCHEMA,
    _("With `phone`: the code that was entered. A wrong one spends an attempt."),
    "4821",
    error=custom_codes.WRONG_FORM,
    normalise=clipboard.code,
)
FEEDBACK = Call(
    "POST",
    "/otp/feedback",
    "reportEntered",
    _("Report an entered code"),
    _(
        "Tells within a day that a custom code was entered correctly: it proves the delivery, and "
        "routing and protection learn from it. Only for sends with `code`; ours are checked by "
        "`/otp/verify`. A repeat changes nothing. Report all of them or none: while you report, a "
        "code that was not reported counts as not entered, until seven days after your last report."
    ),
    Scope.OTP,
    message=_("Thank you: the code counts as entered"),
    body=(VERIFIED_PHONE, REPORTED_ID, REPORTED_CODE, PURPOSE),
    one_of=("phone", "id"),
    response=VERIFICATION,
    refusals=(
        Error.INVALID_INPUT,
        Error.INVALID_PHONE,
        Error.NOT_FOUND,
        Error.CODE_INVALID,
        Error.CODE_EXPIRED,
        Error.CODE_USED,
        Error.CODE_NOT_FOUND,
        Error.TOO_MANY_ATTEMPTS,
    ),
)

CALLS = (
    *(NEXT_CHANNEL, FEEDBACK),
    *(LIST_VERIFICATIONS, GET_VERIFICATION, CANCEL_VERIFICATION, GET_EVIDENCE),
)
