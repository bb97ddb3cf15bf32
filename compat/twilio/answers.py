"""The bodies of Twilio's answers, whose ids are derived from ours.

`VE` and the digits of our verification's id, `VL` and those of the message's; a service is a
company's codes of one purpose in one mode. Its clients know of channels what Twilio has.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.conf import settings

from accounts.keys.api_keys import Principal
from channels.models import Message
from compat.twilio.dialect import DIALECT
from compat.twilio.sids import derived, service_sid, sid
from otp.verifications import FoundVerification, State

CHANNELS = {"sms": "sms", "whatsapp": "whatsapp"}  # the others are not in Twilio's enumeration
STATUS = {
    State.PENDING: "pending",
    State.VERIFIED: "approved",
    State.EXPIRED: "expired",
    State.CANCELLED: "canceled",
    State.SUPERSEDED: "expired",
    State.EXHAUSTED: "max_attempts_reached",
}
MESSAGE_STATUS = {
    Message.State.QUEUED: "queued",
    Message.State.SENT: "sent",
    Message.State.DELIVERED: "delivered",
    Message.State.FAILED: "undelivered",
    Message.State.EXPIRED: "undelivered",
}
_ACCOUNT = re.compile(r"AC[0-9a-fA-F]{32}")


def stamp(moment: datetime) -> str:
    """To the second: SDKs read no fractions."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class SendAttempt(NamedTuple):
    id: UUID  # of the message
    channel: str
    created_at: datetime


class Shown(NamedTuple):
    """What a verification's body shows of it."""

    id: UUID
    to: str
    status: str
    binding: Mapping[str, Any]
    created_at: datetime
    updated_at: datetime
    attempts: Sequence[SendAttempt]

    @classmethod
    def of(cls, verification: FoundVerification) -> "Shown":
        attempts = [
            SendAttempt(row.id, row.channel, row.created_at) for row in verification.messages
        ]
        times = [verification.created_at, *(attempt.created_at for attempt in attempts)]
        return cls(
            verification.id,
            verification.phone,
            STATUS[verification.state],
            verification.binding or {},
            verification.created_at,
            verification.verified_at or max(times),
            attempts,
        )

    @property
    def channel(self) -> str:
        return CHANNELS.get(self.attempts[-1].channel, "sms") if self.attempts else "sms"


@dataclass(frozen=True, slots=True)
class Bodies:
    """The bodies for one client: its account is what it calls itself."""

    principal: Principal
    user: str

    @property
    def account_sid(self) -> str:
        if _ACCOUNT.fullmatch(self.user):
            return self.user
        return derived("AC", self.principal.company_id)

    @property
    def service_sid(self) -> str:
        principal = self.principal
        return service_sid(principal.company_id, principal.mode, principal.purpose)

    def url(self, path: str) -> str:
        return f"{settings.PUBLIC_URL}{DIALECT.path}/v2{path}"

    def _service_url(self, path: str = "") -> str:
        return self.url(f"/Services/{self.service_sid}{path}")

    def service(self) -> dict[str, Any]:
        return {
            "sid": self.service_sid,
            "account_sid": self.account_sid,
            "friendly_name": self.principal.brand,
            "code_length": self.principal.code_length,
            "lookup_enabled": False,
            "psd2_enabled": False,  # amount and payee may be given, and need not
            "skip_sms_to_landlines": True,
            "dtmf_input_required": False,
            "tts_name": None,
            "do_not_share_warning_enabled": False,
            "custom_code_enabled": True,
            "push": None,
            "totp": None,
            "default_template_sid": None,
            "whatsapp": None,
            "passkeys": None,
            "verify_event_subscription_enabled": False,
            "date_created": None,
            "date_updated": None,
            "url": self._service_url(),
            "links": {
                "verifications": self._service_url("/Verifications"),
                "verification_checks": self._service_url("/VerificationCheck"),
            },
        }

    def _core(self, shown: Shown) -> dict[str, Any]:
        """What a verification and its check have in common."""
        return {
            "sid": sid("VE", shown.id),
            "service_sid": self.service_sid,
            "account_sid": self.account_sid,
            "to": shown.to,
            "channel": shown.channel,
            "status": shown.status,
            "valid": shown.status == "approved",
            "amount": shown.binding.get("amount"),
            "payee": shown.binding.get("payee"),
            "date_created": stamp(shown.created_at),
            "date_updated": stamp(shown.updated_at),
        }

    def verification(self, shown: Shown) -> dict[str, Any]:
        core = self._core(shown)
        return core | {
            "lookup": {},
            "send_code_attempts": [
                {
                    "time": stamp(attempt.created_at),
                    "channel": attempt.channel.upper(),
                    "attempt_sid": sid("VL", attempt.id),
                }
                for attempt in shown.attempts
            ],
            "sna": None,
            "url": self._service_url(f"/Verifications/{core['sid']}"),
        }

    def check(self, shown: Shown) -> dict[str, Any]:
        return self._core(shown) | {"sna_attempts_error_codes": []}

    def attempt(self, message: Message, *, is_converted: bool) -> dict[str, Any]:
        attempt_sid = sid("VL", message.id)
        return {
            "sid": attempt_sid,
            "account_sid": self.account_sid,
            "service_sid": self.service_sid,
            "verification_sid": sid("VE", message.subject_id),
            "date_created": stamp(message.created_at),
            "date_updated": stamp(message.delivered_at or message.sent_at or message.created_at),
            "conversion_status": "converted" if is_converted else "unconverted",
            "channel": CHANNELS.get(message.channel, "sms"),
            "price": None,
            "channel_data": {
                "to": message.phone,
                "message_status": MESSAGE_STATUS[Message.State(message.state)],
            },
            "url": self.url(f"/Attempts/{attempt_sid}"),
        }

    def page(self, key: str, items: Iterable[Any], path: str) -> dict[str, Any]:
        """A list that has one page."""
        url = self.url(f"{path}?PageSize=50&Page=0")
        meta = {"key": key, "page": 0, "page_size": 50, "first_page_url": url, "url": url}
        return {key: list(items), "meta": meta | {"previous_page_url": None, "next_page_url": None}}
