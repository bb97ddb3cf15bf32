"""The calls of Twilio Verify v2: https://www.twilio.com/docs/verify/api."""

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from django.http import HttpResponse
from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request

from api.request_fields import RequestFields
from catalogue.channels import BY_NAME
from catalogue.errors import DomainError, Error
from channels.routing.company_policy import locale_for
from compat.dialect import Answer, basic_credentials
from compat.twilio import fields as of
from compat.twilio.answers import Bodies, SendAttempt, Shown
from compat.twilio.dialect import DIALECT
from compat.twilio.sids import parse_sid
from compat.view import CompatView
from otp.feedback import report_entered
from otp.send import CodeSendRequest, SentCode
from otp.verifications import FoundVerification, State, cancel

MILLISECONDS = 80  # bits after those of an id
CHANGED_IN_CABINET = _("Settings are changed in the cabinet")


class TwilioView(CompatView):
    dialect = DIALECT

    @cached_property
    def bodies(self) -> Bodies:
        return Bodies(self.principal, basic_credentials(self.request.META)[0])

    def answer(self, body: Mapping[str, Any] | None, status: int = 200) -> HttpResponse:
        return self.respond(Answer(status, body))

    def fields(self, request: Request) -> RequestFields:
        return RequestFields({name: text for name, text in self.form(request).items() if text})

    def check_service(self, service: str) -> None:
        if service != self.bodies.service_sid:
            raise DomainError(Error.NOT_FOUND)

    def find_by(self, sid_or_number: str) -> FoundVerification:
        """By its id; by the number, the one whose code can be entered now."""
        if verification_id := parse_sid("VE", sid_or_number):
            return self.find(verification_id)
        verification = self.find_live(self.number(sid_or_number))
        if verification is None:
            raise DomainError(Error.NOT_FOUND)
        return verification


class Services(TwilioView):
    def get(self, request: Request) -> HttpResponse:
        bodies = self.bodies
        return self.answer(bodies.page("services", [bodies.service()], "/Services"))

    def post(self, request: Request) -> HttpResponse:
        raise DomainError(Error.FORBIDDEN, message=CHANGED_IN_CABINET)


class Service(TwilioView):
    def get(self, request: Request, service: str) -> HttpResponse:
        self.check_service(service)
        return self.answer(self.bodies.service())

    def post(self, request: Request, service: str) -> HttpResponse:
        self.check_service(service)
        raise DomainError(Error.FORBIDDEN, message=CHANGED_IN_CABINET)

    delete = post


class Verifications(TwilioView):
    def post(self, request: Request, service: str) -> HttpResponse:
        self.check_service(service)
        wanted = self._request(self.fields(request))
        try:
            sent = self.send(wanted)
        except DomainError as error:
            shown = self._running(wanted, error)
        else:
            shown = self._shown(sent, wanted)
        return self.answer(self.bodies.verification(shown), 201)

    def _request(self, fields: RequestFields) -> CodeSendRequest:
        to = fields.text(of.TO)
        channel = self._channel(fields)
        locale = fields.text(of.LOCALE)
        fields.text(of.CUSTOM_CODE)
        if fields.text(of.CUSTOM_MESSAGE):
            fields.add_error(of.CUSTOM_MESSAGE, _("Texts are set in the cabinet"))
        of.refuse_unknown_rate_limits(fields)
        of.object_of(fields, of.SUBSTITUTIONS)
        binding, tags = of.binding(fields), of.tags(fields)
        requester = self.requester(
            fields, of.DEVICE_IP, is_trusted=fields.text(of.RISK_CHECK) == "disable"
        )
        fields.check()
        number = self.number(to or "")
        purpose = self.principal.purpose
        return CodeSendRequest(
            phone=number,
            purpose=purpose,
            locale=locale or locale_for(self.principal, number, purpose),
            channel=channel,
            link=None,
            requester=requester,
            custom_code=fields.text(of.CUSTOM_CODE) or None,
            binding=binding,
            metadata=tags,
        )

    def _channel(self, fields: RequestFields) -> str | None:
        """None: the company's own order, which Twilio calls `auto`."""
        name = (fields.text(of.CHANNEL) or "").lower()
        if name in {"call", "email", "sna"}:
            raise DomainError(Error.CHANNEL_UNAVAILABLE, message=name)
        if name not in {"", "auto", *BY_NAME}:
            fields.add_error(of.CHANNEL, _("sms, whatsapp or auto"))
        return None if name == "auto" else name

    def _running(self, wanted: CodeSendRequest, error: DomainError) -> Shown:
        """Twilio has no wait between sends: while ours lasts, nothing is sent and the answer is
        the running verification. Not where the client chose the code: the person has another one.
        """
        too_soon = error.error is Error.RESEND_TOO_SOON and wanted.custom_code is None
        verification = self.find_live(wanted.phone) if too_soon else None
        if verification is None:
            raise error
        return Shown.of(verification)

    def _shown(self, sent: SentCode, wanted: CodeSendRequest) -> Shown:
        outcome, verification_id = sent.outcome, sent.verification_id
        # Ids begin with milliseconds, and a new code gets its own after its message.
        if verification_id.int >> MILLISECONDS < outcome.message_id.int >> MILLISECONDS:
            return Shown.of(self.find(verification_id))
        now = datetime.now(UTC)
        attempt = SendAttempt(outcome.message_id, outcome.channel, now)
        binding = wanted.binding or {}
        return Shown(verification_id, wanted.phone, "pending", binding, now, now, [attempt])


class Verification(TwilioView):
    def get(self, request: Request, service: str, sid: str) -> HttpResponse:
        self.check_service(service)
        return self.answer(self.bodies.verification(Shown.of(self.find_by(sid))))

    def post(self, request: Request, service: str, sid: str) -> HttpResponse:
        self.check_service(service)
        fields = self.fields(request)
        status = fields.text(of.STATUS)
        fields.check()
        verification = self.find_by(sid)
        if status == "approved":  # reported of the client's own code, which nobody checked here
            report_entered(self.principal, verification_id=verification.id)
            verification = self.find(verification.id)
        elif (verification := cancel(self.principal, verification.id)).state is not State.CANCELLED:
            raise DomainError(Error.NOT_FOUND)
        return self.answer(self.bodies.verification(Shown.of(verification)))


class VerificationCheck(TwilioView):
    def post(self, request: Request, service: str) -> HttpResponse:
        self.check_service(service)
        fields = self.fields(request)
        code = fields.text(of.CODE) or ""
        to, sid = fields.text(of.SOME_TO), fields.text(of.VERIFICATION_SID)
        if not (to or sid):
            fields.add_error(of.TO, _("Specify To or VerificationSid"))
        binding = of.binding(fields)
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
        return self.answer(self.bodies.check(Shown.of(verification)), 201)
