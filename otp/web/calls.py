"""Declares the calls and the webhook events of codes."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from accounts.models import Scope
from api.calls import (
    TEST,
    Call,
    Field,
    Shape,
    boolean,
    choice,
    identifier,
    integer,
    nullable,
    option,
    text,
    time,
)
from catalogue import custom_codes
from catalogue.errors import Error
from catalogue.ids import public_id
from channels.guard.scope_evidence import ScopeKind
from channels.models.stored_fields import REFERENCE
from channels.web.fields import (
    CHANNEL,
    COST,
    DEFAULT_PURPOSE,
    LOCALE,
    MESSAGE_ID,
    PHONE,
    REQUESTED_LOCALE,
    SEND_STATUS,
    SENT_REFUSALS,
    UNDERSTOOD_PHONE,
    USED_CHANNEL,
)
from channels.web.message_fields import DOOR, NUMBER
from channels.web.message_fields import METADATA as OWN_METADATA
from channels.web.status_texts import status_text
from links.api.fields import LINK_FOR_CODE, SHORT_URL
from links.api.lifetime_fields import LINK_FOR_CODE_LIFETIME, LINK_UNTIL
from otp.web.send_options import BIND, OPTIONS
from parsing import clipboard
from webhooks.events import EXAMPLE_PHONE, EventDeclaration, iso
from webhooks.models import EventKind

PURPOSE = option(
    "purpose",
    text(maxLength=64),
    format_lazy(
        _(
            "What the code is for, such as `login` or `payment`; `{default}` by default. A code "
            "is valid only for its own purpose."
        ),
        default=DEFAULT_PURPOSE,
    ),
)

IP = option(
    "ip",
    text(maxLength=64),
    _(
        "The IP address of the person who asked for the code. Tells attacks from people; only a "
        "keyed hash of it (of an IPv6 address, of its /64) is stored, and goes with the number. "
        "Private addresses are ignored."
    ),
)
DEVICE_ID = option(
    "device_id",
    text(maxLength=200),
    _("Your own identifier of the person's device. Stored as a keyed hash, like `ip`."),
)
TRUSTED = option(
    "trusted",
    boolean(),
    _(
        "`true` for a person whom you know already. The protection then asks for no proof of "
        "work, and may only refuse."
    ),
)
CHALLENGE = option(
    "challenge",
    text(maxLength=4000),
    _("A solved challenge, if the call before was refused with `challenge_required`."),
)

CUSTOM_CODE_SCHEMA = text(pattern=f"^{custom_codes.PATTERN}$")
CUSTOM_CODE = option(
    "code",
    CUSTOM_CODE_SCHEMA,
    _(
        "A custom code to deliver, 4 to 10 Latin letters or digits; without it the "
        "service makes one. It is kept encrypted until the message has ended. Channels that "
        "cannot carry it are left out: Telegram takes 4 to 8 digits. Sent again with the same "
        "`reference`, it is the same message. Report by `POST /otp/feedback` that it was "
        "entered."
    ),
    error=custom_codes.WRONG_FORM,
)

SEND_CODE = Call(
    "POST",
    "/otp/send",
    "sendCode",
    _("Send a code"),
    _("Creates a one-time code and sends it to a phone number."),
    Scope.OTP,
    page="send-code",
    message=status_text("code", "whatsapp", "sent"),
    body=(
        PHONE,
        PURPOSE,
        CHANNEL,
        LOCALE,
        CUSTOM_CODE,
        LINK_FOR_CODE,
        LINK_FOR_CODE_LIFETIME,
        LINK_UNTIL,
        *OPTIONS,
        IP,
        DEVICE_ID,
        TRUSTED,
        CHALLENGE,
    ),
    response=(
        MESSAGE_ID,
        UNDERSTOOD_PHONE,
        USED_CHANNEL,
        REQUESTED_LOCALE,
        SEND_STATUS,
        COST,
        TEST,
        Field(
            "verification",
            identifier("otp"),
            _(
                "The verification's id, the same when a live code is sent again. Verify, retrieve "
                "or cancel by it."
            ),
            "otp_0192f0c1a6d97c1d8e2f3a4b5c6d7e8f",
        ),
        Field(
            "expires_in",
            integer(0),
            _("The number of seconds until the code expires."),
            settings.CODE_LIFETIME,
        ),
        Field(
            "resend_in",
            integer(0),
            _("The number of seconds until the code can be resent."),
            settings.COOL_DOWN,
        ),
        Field(
            "attempts_left",
            integer(0),
            _("The number of attempts left to enter this code."),
            settings.CODE_ATTEMPTS,
        ),
        Field(
            "short_url",
            SHORT_URL.schema,
            _("The short link; present only if the request had `link`."),
            required=False,
        ),
    ),
    refusals=(
        *SENT_REFUSALS,
        Error.RESEND_TOO_SOON,
        Error.TOO_MANY_ATTEMPTS,
        Error.CHALLENGE_REQUIRED,
    ),
)

VERIFICATION_ID = Field(
    "id",
    identifier("otp"),
    _("The verification's id."),
    "otp_0192f0c1a6d97c1d8e2f3a4b5c6d7e8f",
    source=lambda row: public_id("otp", row.id),
)
VERIFIED_AT = Field(
    "verified_at", time(), _("When the code was verified, in UTC."), "2026-11-20T10:15:30.482915Z"
)
VERIFICATION = Shape("Verification", (VERIFICATION_ID, UNDERSTOOD_PHONE, VERIFIED_AT))
A_CODE = _("A string of 4 to 8 digits")  # `otp.web.guess_fields`
CODE = Field(
    "code",
    CUSTOM_CODE_SCHEMA,
    _(
        "The code, as a string: a number would lose leading zeros. Spaces, dashes and invisible "
        "marks are ignored, and digits of any script are read. Only a custom code may have "
        "letters, as you sent them."
    ),
    "482915",
    error=A_CODE,
    normalise=clipboard.code,
)
VERIFIED_PHONE = replace(PHONE, schema=text(maxLength=64), required=False)
VERIFIED_ID = option(
    "id",
    identifier("otp"),
    _(
        "The `verification` of the send, in place of `phone` and `purpose`. Only its code is "
        "checked, not a newer one for the same number."
    ),
    error=_("The verification's id, `otp_` and 32 hexadecimal digits"),
)
VERIFIED_BIND = replace(
    BIND,
    description=_(
        "The same `bind` as in the send, if that had one. With another one the response is "
        "`binding_mismatch`, and no attempt is spent."
    ),
)
VERIFY_CODE = Call(
    "POST",
    "/otp/verify",
    "verifyCode",
    _("Verify a code"),
    _("Checks the code that a user entered. A correct code works only once."),
    Scope.OTP,
    page="verify-code",
    message=_("The number is verified"),
    body=(VERIFIED_PHONE, VERIFIED_ID, CODE, PURPOSE, VERIFIED_BIND),
    response=VERIFICATION,
    refusals=(
        Error.INVALID_INPUT,
        Error.INVALID_PHONE,
        Error.CODE_INVALID,
        Error.CODE_EXPIRED,
        Error.CODE_USED,
        Error.CODE_NOT_FOUND,
        Error.BINDING_MISMATCH,
        Error.TOO_MANY_ATTEMPTS,
    ),
)

CALLS = (SEND_CODE, VERIFY_CODE)


def _example(_kind: EventKind, subject: str, now: datetime) -> dict[str, Any]:
    return {
        "id": f"otp_{subject}",
        "phone": EXAMPLE_PHONE,
        "purpose": "verification",
        "door": None,
        "reference": None,
        "metadata": None,
        "verified_at": iso(now),
    }


VERIFICATION_EVENT = EventDeclaration(
    "VerificationEvent",
    {EventKind.OTP_VERIFIED: _("A correct code was entered. The event does not contain the code.")},
    (
        VERIFICATION_ID,
        NUMBER,
        replace(PURPOSE, schema=text(), required=True),
        DOOR,
        REFERENCE.shown,
        OWN_METADATA,
        VERIFIED_AT,
    ),
    _example,
)


def _guard_example(_kind: EventKind, _subject: str, now: datetime) -> dict[str, Any]:
    return {
        "scope": "prefix-4",
        "value": "+7916123",
        "step": "refuse",
        "rule": "unverified",
        "enforced": True,
        "codes": 12,
        "entered": 0,
        "tokens": 176,
        "until": iso(now + timedelta(hours=1)),
    }


GUARD_EVENT = EventDeclaration(
    "GuardEvent",
    {
        EventKind.GUARD_TRIGGERED: _(
            "Codes to some numbers are delivered but not entered, so sends to them are held "
            "back, or would be in the mode that only watches."
        )
    },
    (
        Field(
            "scope",
            choice([kind.value for kind in ScopeKind if kind != ScopeKind.COMPANY], "GuardScope"),
            _(
                "What these sends have in common: the country, the carrier's range, a block of "
                "10,000, 1,000 or 100 numbers, the `ip` or the `device_id`."
            ),
        ),
        Field(
            "value",
            nullable(text()),
            _("The country, or the digits that the numbers share; `null` for an address."),
        ),
        Field(
            "step",
            choice(["cheap_only", "challenge", "refuse"], "GuardStep"),
            _("No SMS, a proof of work, or no sends at all."),
        ),
        Field("rule", choice(["unverified", "pending"], "GuardRule"), _("Why.")),
        Field("enforced", boolean(), _("`false` in the mode that only watches.")),
        Field("codes", integer(0), _("The number of codes delivered recently.")),
        Field("entered", integer(0), _("How many of them were entered correctly.")),
        Field("tokens", integer(0), _("Tokens charged beyond the usual cost of this many codes.")),
        Field("until", time(), _("When the restriction ends unless extended.")),
    ),
    _guard_example,
)

EVENTS = (VERIFICATION_EVENT, GUARD_EVENT)
