"""What Twilio's calls share: the reading of forms and ids, the bodies of answers.

Its clients know of channels what Twilio has.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest
from django.utils.functional import cached_property
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from api.request_fields import RequestFields
from catalogue.errors import DomainError, Error
from channels.models import Message
from compat.dialect import basic_credentials, derived_id
from compat.twilio.dialect import DIALECT, parse_sid, service_sid, sid
from compat.view import CompatView
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


class NewMessage(NamedTuple):
    id: UUID
    channel: str
    created_at: datetime


class NewVerification(NamedTuple):
    """What bodies show of a verification, where this request made it: without a query."""

    id: UUID
    phone: str
    binding: Mapping[str, str] | None
    created_at: datetime
    messages: Sequence[NewMessage]
    state: State = State.PENDING
    verified_at: datetime | None = None


class TwilioView(CompatView):
    dialect = DIALECT

    @cached_property
    def account_sid(self) -> str:
        """As the client calls itself."""
        user = basic_credentials(self.request.META)[0]
        if _ACCOUNT.fullmatch(user):
            return user
        return f"AC{derived_id('twilio', self.principal.company_id)}"

    @cached_property
    def service_sid(self) -> str:
        principal = self.principal
        return service_sid(principal.company_id, principal.mode, principal.purpose)

    def url(self, path: str) -> str:
        return f"{settings.PUBLIC_URL}{DIALECT.path}/v2{path}"

    def fields(self, request: HttpRequest) -> RequestFields:
        """The last counts where one is given twice."""
        return RequestFields(
            {name: text for name, text in dict(self.form(request)).items() if text}
        )

    def check_access(self, request: HttpRequest) -> None:
        super().check_access(request)
        if self.kwargs.get("service", self.service_sid) != self.service_sid:
            text = _("the ServiceSid of this key is {sid}")
            raise DomainError(Error.NOT_FOUND, message=format_lazy(text, sid=self.service_sid))

    def find_by(self, sid_or_number: str) -> FoundVerification:
        """By its id; by the number, the one whose code can be entered now."""
        if verification_id := parse_sid("VE", sid_or_number):
            return self.find(verification_id)
        verification = self.find_live(self.number(sid_or_number))
        if verification is None:
            raise DomainError(Error.NOT_FOUND)
        return verification

    def service_body(self) -> dict[str, Any]:
        url = self.url(f"/Services/{self.service_sid}")
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
            "url": url,
            "links": {
                "verifications": f"{url}/Verifications",
                "verification_checks": f"{url}/VerificationCheck",
            },
        }

    def core(self, verification: FoundVerification | NewVerification) -> dict[str, Any]:
        binding, status = verification.binding or {}, STATUS[verification.state]
        channels = [message.channel for message in verification.messages]
        times = [
            verification.created_at,
            *(message.created_at for message in verification.messages),
        ]
        return {
            "sid": sid("VE", verification.id),
            "service_sid": self.service_sid,
            "account_sid": self.account_sid,
            "to": verification.phone,
            "channel": CHANNELS.get(channels[-1] if channels else "", "sms"),
            "status": status,
            "valid": status == "approved",
            "amount": binding.get("amount"),
            "payee": binding.get("payee"),
            "date_created": verification.created_at,
            "date_updated": verification.verified_at or max(times),
        }

    def verification_body(
        self, verification: FoundVerification | NewVerification
    ) -> dict[str, Any]:
        body = self.core(verification)
        attempts = [
            {
                "time": message.created_at,
                "channel": message.channel.upper(),
                "attempt_sid": sid("VL", message.id),
            }
            for message in verification.messages
        ]
        url = self.url(f"/Services/{self.service_sid}/Verifications/{body['sid']}")
        return body | {"lookup": {}, "send_code_attempts": attempts, "sna": None, "url": url}

    def attempt_bodies(self, verification: FoundVerification) -> list[dict[str, Any]]:
        """The newest one counts as the one whose code was entered."""
        is_entered = verification.state is State.VERIFIED
        newest = verification.messages[-1:]
        return [
            self._attempt_body(message, is_converted=is_entered and message in newest)
            for message in verification.messages
        ]

    def _attempt_body(self, message: Message, *, is_converted: bool) -> dict[str, Any]:
        attempt_sid = sid("VL", message.id)
        return {
            "sid": attempt_sid,
            "account_sid": self.account_sid,
            "service_sid": self.service_sid,
            "verification_sid": sid("VE", message.subject_id),
            "date_created": message.created_at,
            "date_updated": message.delivered_at or message.sent_at or message.created_at,
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
