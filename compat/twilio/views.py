"""The calls of Twilio Verify v2: https://www.twilio.com/docs/verify/api."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import orjson
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.models import Company
from api.calls import Field, text, time_or_day
from api.request_fields import QueryFields, RequestFields
from catalogue.channels import BY_NAME
from catalogue.errors import DomainError, Error
from channels.history.breakdown import Dimension, Steps, breakdown
from channels.history.figures import DayRange
from channels.web import fields as our_fields
from compat.fields import guess, optional, own_code
from compat.twilio.base import NewMessage, NewVerification, TwilioView
from compat.twilio.dialect import parse_sid
from otp.feedback import is_own_code, report_entered
from otp.protection.send_check import NOT_AN_ADDRESS, UNKNOWN, Requester, requester_of
from otp.send import CodeSendRequest, SentCode
from otp.texts import bindings
from otp.verifications import FoundVerification, State, cancel, find_by_message
from parsing import characters

LONG = text(maxLength=1000)
SOME_TO = optional("To", text(maxLength=64))
TO = SOME_TO.chosen()
CHANNEL = optional("Channel", text(maxLength=20)).chosen()
LOCALE = replace(our_fields.LOCALE, name="Locale")
CUSTOM_CODE = own_code("CustomCode")
CUSTOM_MESSAGE = optional("CustomMessage", LONG)
SUBSTITUTIONS = optional("TemplateCustomSubstitutions", LONG)
RATE_LIMITS = optional("RateLimits", LONG)
TAGS = optional("Tags", text(maxLength=4000))
DEVICE_IP = optional("DeviceIp", text(maxLength=64))
RISK_CHECK = optional("RiskCheck", text(enum=["enable", "disable"]))
AMOUNT, PAYEE = optional("Amount", text(maxLength=32)), optional("Payee", text(maxLength=64))
CODE = guess("Code").chosen()
VERIFICATION_SID = optional("VerificationSid", text(pattern="^VE[0-9a-fA-F]{32}$"))
STATUS = optional("Status", text(enum=["canceled", "approved"])).chosen()
NAME = text(maxLength=64)  # these of lists
SERVICE, ANY_CHANNEL = optional("VerifyServiceSid", NAME), optional("Channel", NAME)
ATTEMPTS_TO = optional("ChannelData.To", NAME)
CONVERSION = optional("Status", text(enum=["converted", "unconverted"]))
AFTER = optional("DateCreatedAfter", time_or_day())
BEFORE = optional("DateCreatedBefore", time_or_day())
NOT_COUNTED = (optional("Country", NAME), ANY_CHANNEL, optional("DestinationPrefix", NAME))
MAX_TAGS, MAX_TAG = 10, 128


def read_object(read: RequestFields, field: Field) -> dict[str, str]:
    """The texts of a JSON object in a parameter."""
    value = read.text(field)
    if not value:
        return {}
    try:
        parsed = orjson.loads(value)
    except orjson.JSONDecodeError:
        parsed = None
    if not isinstance(parsed, dict) or not all(isinstance(text, str) for text in parsed.values()):
        read.add_error(field, _("A JSON object of texts"))
        return {}
    return parsed


def read_tags(read: RequestFields) -> Mapping[str, str]:
    tags = read_object(read, TAGS)
    parts = [part for pair in tags.items() for part in pair]
    longest = max(map(len, parts), default=0)
    if len(tags) > MAX_TAGS or longest > MAX_TAG or not all(map(characters.is_text, parts)):
        read.add_error(TAGS, _("At most 10 tags of at most 128 characters"))
    return tags


def read_binding(read: RequestFields) -> dict[str, str] | None:
    """What the person agrees to by the code: an amount and who gets it."""
    payment = {"amount": read.text(AMOUNT), "payee": read.text(PAYEE)}
    if not any(payment.values()):
        return None
    try:
        return bindings.check(payment)
    except ValidationError as error:
        for fault in error.messages:
            name, _colon, reason = fault.partition(": ")
            read.add_error(PAYEE if name == "payee" else AMOUNT, reason or fault)
        return None


def read_requester(read: RequestFields, company_id: int) -> Requester:
    is_trusted = read.text(RISK_CHECK) == "disable"
    try:
        return requester_of(company_id, ip=read.text(DEVICE_IP), is_trusted=is_trusted)
    except ValueError:
        read.add_error(DEVICE_IP, NOT_AN_ADDRESS)
        return UNKNOWN


DAYS, MAX_DAYS = 30, 92  # of a summary
NO_HISTORY = _(
    "A key of this kind reads no history: name a VerificationSid, or a number in ChannelData.To"
)
GENERATED_HERE = _("This code was made here, not by you: check it with VerificationCheck")
NO_RATE_LIMITS = _("This service has no rate limits of its own: those of the company hold")


class Services(TwilioView):
    def get(self, _request: HttpRequest) -> HttpResponse:
        return self.answer(self.page("services", [self.service_body()], "/Services"))

    def post(self, _request: HttpRequest, **_path: str) -> HttpResponse:
        raise DomainError(Error.FORBIDDEN, message=_("Settings are changed in the cabinet"))


class Service(TwilioView):
    def get(self, _request: HttpRequest, **_path: str) -> HttpResponse:
        return self.answer(self.service_body())

    post = delete = Services.post


class Verifications(TwilioView):
    def post(self, request: HttpRequest, **_path: str) -> HttpResponse:
        code_request = self._request(self.fields(request))
        verification: FoundVerification | NewVerification
        try:
            verification = self._shown(self.send(code_request), code_request)
        except DomainError as error:
            verification = self.running(code_request, error)
        return self.answer(self.verification_body(verification), 201)

    def _request(self, fields: RequestFields) -> CodeSendRequest:
        to, channel = fields.text(TO), self._channel(fields)
        locale, custom_code = fields.text(LOCALE), fields.text(CUSTOM_CODE)
        if fields.text(CUSTOM_MESSAGE):
            fields.add_error(CUSTOM_MESSAGE, _("Texts are set in the cabinet"))
        if read_object(fields, RATE_LIMITS):
            fields.add_error(RATE_LIMITS, NO_RATE_LIMITS)
        read_object(fields, SUBSTITUTIONS)
        binding, tags = read_binding(fields), read_tags(fields)
        requester = read_requester(fields, self.principal.company_id)
        fields.check()
        return self.code_request(
            self.number(to or ""),
            locale,
            channel=channel,
            requester=requester,
            custom_code=custom_code,
            binding=binding,
            metadata=tags,
        )

    def _channel(self, fields: RequestFields) -> str | None:
        """None: the company's own order, which Twilio calls `auto`."""
        name = (fields.text(CHANNEL) or "").lower()
        if name in {"call", "email", "sna"}:
            raise DomainError(Error.CHANNEL_UNAVAILABLE, message=name)
        if name not in {"", "auto", *BY_NAME}:
            fields.add_error(CHANNEL, _("sms, whatsapp or auto"))
        return None if name == "auto" else name

    def _shown(
        self, sent: SentCode, request: CodeSendRequest
    ) -> FoundVerification | NewVerification:
        if sent.is_resend:
            return self.find(sent.verification_id)
        now = datetime.now(UTC)
        messages = [NewMessage(sent.outcome.message_id, sent.outcome.channel, now)]
        return NewVerification(sent.verification_id, request.phone, request.binding, now, messages)


class Verification(TwilioView):
    def get(self, _request: HttpRequest, sid: str, **_path: str) -> HttpResponse:
        return self.answer(self.verification_body(self.find_by(sid)))

    def post(self, request: HttpRequest, sid: str, **_path: str) -> HttpResponse:
        fields = self.fields(request)
        status = fields.text(STATUS)
        fields.check()
        verification = self.find_by(sid)
        if status == "approved":  # reported of the client's own code, which nobody checked here
            self._check_own_code(verification, fields)
            report_entered(self.principal, verification_id=verification.id)
            verification = self.find(verification.id)
        elif (verification := cancel(self.principal, verification.id)).state is not State.CANCELLED:
            raise DomainError(Error.NOT_FOUND)
        return self.answer(self.verification_body(verification))

    def _check_own_code(self, verification: FoundVerification, fields: RequestFields) -> None:
        if not is_own_code(
            self.principal,
            phone=verification.phone,
            purpose=self.principal.purpose,
            verification_id=verification.id,
        ):
            fields.add_error(STATUS, GENERATED_HERE)
            fields.check()


class VerificationCheck(TwilioView):
    def post(self, request: HttpRequest, **_path: str) -> HttpResponse:
        fields = self.fields(request)
        code = fields.text(CODE) or ""
        to, sid = fields.text(SOME_TO), fields.text(VERIFICATION_SID)
        if not (to or sid):
            fields.add_error(TO, _("Specify To or VerificationSid"))
        binding = read_binding(fields)
        fields.check()
        verification_id = parse_sid("VE", sid) if sid else None
        phone = self.find(verification_id).phone if verification_id else self.number(to or "")
        try:
            checked = self.check(
                code, phone=phone, verification_id=verification_id, binding=binding
            )
        except DomainError as error:
            if error.error not in {Error.CODE_INVALID, Error.BINDING_MISMATCH}:
                raise
            verification = self.find_live(phone)
            if verification is None:  # that was the last attempt
                raise DomainError(Error.TOO_MANY_ATTEMPTS) from None
        else:
            verification = self.find(checked.id)
        return self.answer(self.core(verification) | {"sna_attempts_error_codes": []}, 201)


class Attempts(TwilioView):
    """The attempts of one verification: a key that leaks must list nobody's numbers."""

    def get(self, request: HttpRequest) -> HttpResponse:
        fields = QueryFields(request.GET.dict())
        sid, to = fields.text(VERIFICATION_SID), fields.text(ATTEMPTS_TO)
        filters = {
            "service_sid": fields.text(SERVICE),
            "channel": fields.text(ANY_CHANNEL),
            "conversion_status": fields.text(CONVERSION),
        }
        fields.check()
        if not (sid or to):
            raise DomainError(Error.FORBIDDEN, message=NO_HISTORY)
        verification = self.find_by(sid) if sid else self.find_live(self.number(to or ""))
        rows = [
            row
            for row in (self.attempt_bodies(verification) if verification else [])
            if all(value in {None, row[name]} for name, value in filters.items())
        ]
        return self.answer(self.page("attempts", rows, "/Attempts"))


class Attempt(TwilioView):
    def get(self, _request: HttpRequest, sid: str) -> HttpResponse:
        verification = find_by_message(self.principal, parse_sid("VL", sid))
        rows = self.attempt_bodies(verification)
        return self.answer(next(row for row in rows if row["sid"].lower() == sid.lower()))


class Summary(TwilioView):
    """Numbers of whole days, by default of the last thirty."""

    def get(self, request: HttpRequest) -> HttpResponse:
        fields = QueryFields(request.GET.dict())
        service, after = fields.text(SERVICE), fields.time(AFTER)
        last = timezone.localdate(fields.time(BEFORE))
        first = timezone.localdate(after) if after else last - timedelta(days=DAYS - 1)
        days = DayRange(first, last)
        for field in NOT_COUNTED:
            if fields.text(field):
                fields.add_error(field, _("Attempts are counted by day, and for the whole service"))
        if not 1 <= days.length <= MAX_DAYS:
            fields.add_error(AFTER, _("At most 92 days"))
        fields.check()
        steps = self._steps(days) if service in {None, self.service_sid} else Steps()
        return self.answer(
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
