"""The event of a right code, which `otp.sql.SETTLE_VERIFIED` writes, and that of the guard, which
`otp.protection.notices` does.
"""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from django.utils.translation import gettext_lazy as _

from accounts.api.fields import Field, boolean, choice, integer, nullable, text, time
from accounts.models import EventKind
from accounts.webhooks.event_declarations import EXAMPLE_PHONE, EventDeclaration, iso
from channels.web.message_fields import NUMBER
from otp.models import ScopeKind
from otp.web.calls import PURPOSE, VERIFICATION_ID, VERIFIED_AT


def _example(_kind: EventKind, subject: str, now: datetime) -> dict[str, Any]:
    return {
        "id": f"otp_{subject}",
        "phone": EXAMPLE_PHONE,
        "purpose": "verification",
        "verified_at": iso(now),
    }


VERIFICATION_EVENT = EventDeclaration(
    "VerificationEvent",
    {EventKind.OTP_VERIFIED: _("A correct code was entered. The event does not contain the code.")},
    (VERIFICATION_ID, NUMBER, replace(PURPOSE, schema=text(), required=True), VERIFIED_AT),
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
            "Codes to some numbers are delivered and not entered, so sends to them are held back, "
            "or would be in the mode that only watches."
        )
    },
    (
        Field(
            "scope",
            choice([kind for kind in ScopeKind.values if kind != ScopeKind.COMPANY], "GuardScope"),
            _(
                "What these sends have in common: the country, the operator's range, a block of "
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
        Field("codes", integer(0), _("The number of codes delivered lately.")),
        Field("entered", integer(0), _("How many of them were entered right.")),
        Field("tokens", integer(0), _("Tokens charged beyond what is usual for so many codes.")),
        Field("until", time(), _("Until when it holds, unless it goes on.")),
    ),
    _guard_example,
)
