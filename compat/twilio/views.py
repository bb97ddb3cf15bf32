"""The calls of Twilio Verify v2: https://www.twilio.com/docs/verify/api.

Responses only contain channels that Twilio has.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from accounts.models import Company
from api.calls import Fields
from api.request_fields import QueryFields
from catalogue.errors import DomainError, Error, invalid_input
from channels.history.breakdown import Dimension, Steps, breakdown
from channels.history.figures import DayRange
from channels.models import Message
from compat.dialect import basic_credentials, derived_id
from compat.fields import Body
from compat.twilio import dialect, fields
from compat.twilio.dialect import DIALECT, parse_sid, service_sid, sid
from compat.view import CompatView
from otp.check.check import RefusalState, counted_refusal
from otp.feedback import report_entered
from otp.protection.requesters import NOT_AN_ADDRESS, UNKNOWN, requester_of
from otp.send.code_request import CodeSendRequest
from otp.send.send import SentCode
from otp.verifications import FoundVerification, State, cancel, find_by_message

DAYS = 30  # of a summary by default
MAX_DAYS = 92  # of a summary
NO_HISTORY = _(
    "A key of this kind reads no history: name a VerificationSid, or a number in ChannelData.To"
)
GENERATED_HERE = _("The service made this code: check it with VerificationCheck")
_ACCOUNT = re.compile(r"AC[0-9a-fA-F]{32}")


class NewMessage(NamedTuple):
    id: UUID
    channel: str
    created_at: datetime


class NewVerification(NamedTuple):
    """A verification that this request created, shown without a query."""

    id: UUID
    phone: str
    binding: Mapping[str, str] | None
    created_at: datetime
    messages: Sequence[NewMessage]
    state: State = State.PENDING
    verified_at: datetime | None = None


Shown = FoundVerification | NewVerification


class TwilioView(CompatView):
    dialect = DIALECT

    @cached_property
    def account_sid(self) -> str:
        """The account's id as the client sent it, or one derived from the company."""
        user = basic_credentials(self.request.META)[0]
        is_sid = _ACCOUNT.fullmatch(user)
        return user if is_sid else f"AC{derived_id('twilio', self.principal.company_id)}"

    @cached_property
    def service_sid(self) -> str:
        principal = self.principal
        return service_sid(principal.company_id, principal.mode, principal.purpose)

    def check_access(self, request: HttpRequest) -> None:
        super().check_access(request)
        if self.kwargs.get("service", self.service_sid) != self.service_sid:
            text = _("the ServiceSid of this key is {sid}")
            raise DomainError(Error.NOT_FOUND, message=format_lazy(text, sid=self.service_sid))

    def body(self, request: HttpRequest, values: Fields) -> Body:
        """The parameters of the body; of repeated ones the last counts."""
        form = dict(self.form(request)).items()
        return Body({name: text for name, text in form if text}, values)

    def find_by(self, sid_or_number: str) -> FoundVerification:
        """The verification with this id; for a number, the one whose code can be entered now."""
        if "+" not in sid_or_number:
            return self.find(parse_sid("VE", sid_or_number) or "")
        verification = self.find_live(self.number(sid_or_number))
        if verification is None:
            raise DomainError(Error.NOT_FOUND)
        return verification

    def url(self, path: str) -> str:
        return f"{settings.PUBLIC_URL}{DIALECT.path}/v2{path}"

    def page(self, key: str, items: Iterable[Any], path: str) -> HttpResponse:
        """A list with a single page."""
        url = self.url(f"{path}?PageSize=50&Page=0")
        meta = {"key": key, "page": 0, "page_size": 50, "first_page_url": url, "url": url}
        others = {"previous_page_url": None, "next_page_url": None}
        return self.respond({key: list(items), "meta": meta | others})

    def service(self) -> dict[str, Any]:
        url = self.url(f"/Services/{self.service_sid}")
        return {
            "sid": self.service_sid,
            "account_sid": self.account_sid,
            "friendly_name": self.principal.brand,
            "code_length": self.principal.code_length,
            "lookup_enabled": False,
            "psd2_enabled": False,  # amount and payee are optional
            "skip_sms_to_landlines": True,
            "dtmf_input_required": False,
            "tts_name": None,
            "do_not_share_warning_enabled": False,
            "custom_code_enabled": True,
            **dict.fromkeys(("push", "totp", "default_template_sid", "whatsapp", "passkeys")),
            "verify_event_subscription_enabled": False,
            "date_created": None,
            "date_updated": None,
            "url": url,
            "links": {
                "verifications": f"{url}/Verifications",
                "verification_checks": f"{url}/VerificationCheck",
            },
        }

    def core(self, verification: Shown) -> dict[str, Any]:
        binding = verification.binding or {}
        status = dialect.STATUS[verification.state]
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
            "channel": dialect.CHANNELS.get(channels[-1] if channels else "", "sms"),
            "status": status,
            "valid": status == "approved",
            "amount": binding.get("amount"),
            "payee": binding.get("payee"),
            "date_created": verification.created_at,
            "date_updated": verification.verified_at or max(times),
        }

    def respond_with_verification(self, verification: Shown, status: int = 200) -> HttpResponse:
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
        body |= {"lookup": {}, "send_code_attempts": attempts, "sna": None, "url": url}
        return self.respond(body, status)

    def attempt(self, message: Message, verification: FoundVerification) -> dict[str, Any]:
        """The attempt of a message; the newest one counts as converted if the code was entered."""
        is_newest = message == verification.messages[-1]
        is_converted = is_newest and verification.state is State.VERIFIED
        attempt_sid = sid("VL", message.id)
        return {
            "sid": attempt_sid,
            "account_sid": self.account_sid,
            "service_sid": self.service_sid,
            "verification_sid": sid("VE", message.subject_id),
            "date_created": message.created_at,
            "date_updated": message.delivered_at or message.sent_at or message.created_at,
            "conversion_status": "converted" if is_converted else "unconverted",
            "channel": dialect.CHANNELS.get(message.channel, "sms"),
            "price": None,
            "channel_data": {
                "to": message.phone,
                "message_status": dialect.MESSAGE_STATUS[Message.State(message.state)],
            },
            "url": self.url(f"/Attempts/{attempt_sid}"),
        }


class Services(TwilioView):
    def get(self, _request: HttpRequest) -> HttpResponse:
        return self.page("services", [self.service()], "/Services")

    def post(self, _request: HttpRequest, **_path: str) -> HttpResponse:
        raise DomainError(Error.FORBIDDEN, message=_("Settings are changed in the cabinet"))


class Service(TwilioView):
    def get(self, _request: HttpRequest, **_path: str) -> HttpResponse:
        return self.respond(self.service())

    post = Services.post
    delete = Services.post


class Verifications(TwilioView):
    def post(self, request: HttpRequest, **_path: str) -> HttpResponse:
        code_request = self._request(self.body(request, fields.SEND))
        try:
            verification = self._shown_verification(self.send(code_request), code_request)
        except DomainError as error:
            live = self.live_despite_cool_down(code_request, error.error, error.retry_after)
            if live is None:
                raise
            verification = live
        return self.respond_with_verification(verification, 201)

    def _request(self, body: Body) -> CodeSendRequest:
        binding = fields.binding_of(body)
        is_trusted = body["RiskCheck"] == "disable"
        try:
            requester = requester_of(
                self.principal.company_id, ip=body["DeviceIp"], is_trusted=is_trusted
            )
        except ValueError:
            requester = UNKNOWN
            body.add_error(fields.DEVICE_IP, NOT_AN_ADDRESS)
        body.check()
        return self.code_request(
            self.number(body["To"]),
            body["Locale"],
            channel=body["Channel"],
            requester=requester,
            custom_code=body["CustomCode"],
            binding=binding,
            metadata=body["Tags"] or {},
        )

    def _shown_verification(self, sent: SentCode, request: CodeSendRequest) -> Shown:
        if sent.is_resend:
            return self.find(sent.verification_id)
        now = datetime.now(UTC)
        messages = [NewMessage(sent.outcome.message_id, sent.outcome.channel, now)]
        return NewVerification(sent.verification_id, request.phone, request.binding, now, messages)


class Verification(TwilioView):
    def get(self, _request: HttpRequest, sid: str, **_path: str) -> HttpResponse:
        return self.respond_with_verification(self.find_by(sid))

    def post(self, request: HttpRequest, sid: str, **_path: str) -> HttpResponse:
        body = self.body(request, (fields.NEW_STATUS,))
        body.check()
        verification = self.find_by(sid)
        if body["Status"] == "approved":  # a code that the client made and checked itself
            if not verification.is_custom:
                raise invalid_input(Status=GENERATED_HERE)
            report_entered(self.principal, verification_id=verification.id)
            verification = self.find(verification.id)
        elif (verification := cancel(self.principal, verification.id)).state is not State.CANCELLED:
            raise DomainError(Error.NOT_FOUND)
        return self.respond_with_verification(verification)


class VerificationCheck(TwilioView):
    def post(self, request: HttpRequest, **_path: str) -> HttpResponse:
        body = self.body(request, fields.CHECK)
        if not (body["To"] or body["VerificationSid"]):
            body.add_error(fields.TO, _("Specify To or VerificationSid"))
        binding = fields.binding_of(body)
        body.check()
        verification_id = parse_sid("VE", body["VerificationSid"] or "")
        phone = self.find(verification_id).phone if verification_id else self.number(body["To"])
        try:
            checked = self.check(
                body["Code"], phone=phone, verification_id=verification_id, binding=binding
            )
        except DomainError as error:
            if error.error not in {Error.CODE_INVALID, Error.BINDING_MISMATCH}:
                raise
            verification = self.find_live(phone)
            if verification is None:  # it was the last attempt
                spent = RefusalState(is_exhausted=True)
                raise counted_refusal(self.principal, phone, spent) from None
        else:
            verification = self.find(checked.id)
        return self.respond(self.core(verification) | {"sna_attempts_error_codes": []}, 201)


class Attempts(TwilioView):
    """Lists the attempts of one verification only: a leaked key must not list numbers."""

    def get(self, request: HttpRequest) -> HttpResponse:
        query = QueryFields(request.GET.dict())
        sid = query.text(fields.VERIFICATION_SID)
        to = query.text(fields.ATTEMPTS_TO)
        filters = {
            "service_sid": query.text(fields.SERVICE),
            "channel": query.text(fields.ANY_CHANNEL),
            "conversion_status": query.text(fields.CONVERSION),
        }
        query.check()
        if not (sid or to):
            raise DomainError(Error.FORBIDDEN, message=NO_HISTORY)
        verification = self.find_by(sid) if sid else self.find_live(self.number(to or ""))
        rows = (
            [self.attempt(message, verification) for message in verification.messages]
            if verification
            else []
        )
        conditions = filters.items()
        attempts = [
            row for row in rows if all(value in {None, row[name]} for name, value in conditions)
        ]
        return self.page("attempts", attempts, "/Attempts")


class Attempt(TwilioView):
    def get(self, _request: HttpRequest, sid: str) -> HttpResponse:
        message_id = parse_sid("VL", sid)
        verification = find_by_message(self.principal, message_id)
        message = next(message for message in verification.messages if message.id == message_id)
        return self.respond(self.attempt(message, verification))


class Summary(TwilioView):
    """Totals of whole days, by default of the last thirty."""

    def get(self, request: HttpRequest) -> HttpResponse:
        query = QueryFields(request.GET.dict())
        service = query.text(fields.SERVICE)
        after = query.time(fields.AFTER)
        last = timezone.localdate(query.time(fields.BEFORE))
        first = timezone.localdate(after) if after else last - timedelta(days=DAYS - 1)
        days = DayRange(first, last)
        for field in fields.NOT_COUNTED:
            if query.text(field):
                query.add_error(field, _("Attempts are counted by day, and for the whole service"))
        if not 1 <= days.length <= MAX_DAYS:
            query.add_error(fields.AFTER, _("At most 92 days"))
        query.check()
        steps = self._steps(days) if service in {None, self.service_sid} else Steps()
        return self.respond(
            {
                "total_attempts": steps.codes,
                "total_converted": steps.entered,
                "total_unconverted": max(0, steps.codes - steps.entered),
                "conversion_rate_percentage": f"{steps.share('entered') or 0:.2f}",
                "url": self.url("/Attempts/Summary"),
            }
        )

    def _steps(self, days: DayRange) -> Steps:
        principal = self.principal
        company = Company.objects.get(pk=principal.company_id)
        table = breakdown(company, principal.mode, days, Dimension.PURPOSE)
        return table.rows.get(principal.purpose, Steps())


urlpatterns = [
    path("v2/Services", Services.as_view()),
    path("v2/Services/<service>", Service.as_view()),
    path("v2/Services/<service>/Verifications", Verifications.as_view()),
    path("v2/Services/<service>/Verifications/<sid>", Verification.as_view()),
    path("v2/Services/<service>/VerificationCheck", VerificationCheck.as_view()),
    path("v2/Attempts", Attempts.as_view()),
    path("v2/Attempts/Summary", Summary.as_view()),
    path("v2/Attempts/<sid>", Attempt.as_view()),
]
