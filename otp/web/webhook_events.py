"""The event of a right code. `otp.sql.SETTLE_VERIFIED` writes it."""

from dataclasses import replace
from datetime import datetime
from typing import Any

from django.utils.translation import gettext_lazy as _

from accounts.api.fields import text
from accounts.models import EventKind
from accounts.webhooks.event_declarations import EXAMPLE_PHONE, EventDeclaration, iso
from channels.web.message_fields import NUMBER
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
