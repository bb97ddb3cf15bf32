"""The calls of Twilio Verify v2: https://www.twilio.com/docs/verify/api."""

from datetime import UTC, datetime

from django.http import HttpResponse
from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request

from api.request_fields import RequestFields
from catalogue.channels import BY_NAME
from catalogue.errors import DomainError, Error
from compat.twilio import fields as of
from compat.twilio.base import NewMessage, NewVerification, TwilioView
from compat.twilio.sids import parse_sid
from otp.feedback import report_entered
from otp.send import CodeSendRequest, SentCode
from otp.verifications import FoundVerification, State, cancel

MILLISECONDS = 80  # bits after those of an id
NO_RATE_LIMITS = _("This service has no rate limits of its own: those of the company hold")


class Services(TwilioView):
    def get(self, _request: Request) -> HttpResponse:
        return self.answer(self.page("services", [self.service_body()], "/Services"))

    def post(self, _request: Request, service: str = "") -> HttpResponse:
        self.check_service(service or self.service_sid)
        raise DomainError(Error.FORBIDDEN, message=_("Settings are changed in the cabinet"))


class Service(TwilioView):
    def get(self, _request: Request, service: str) -> HttpResponse:
        self.check_service(service)
        return self.answer(self.service_body())

    post = delete = Services.post


class Verifications(TwilioView):
    def post(self, request: Request, service: str) -> HttpResponse:
        self.check_service(service)
        wanted = self._request(self.fields(request))
        shown: FoundVerification | NewVerification
        try:
            shown = self._shown(self.send(wanted), wanted)
        except DomainError as error:
            shown = self.running(wanted, error)
        return self.answer(self.verification_body(shown), 201)

    def _request(self, fields: RequestFields) -> CodeSendRequest:
        to, channel = fields.text(of.TO), self._channel(fields)
        locale, custom_code = fields.text(of.LOCALE), fields.text(of.CUSTOM_CODE)
        if fields.text(of.CUSTOM_MESSAGE):
            fields.add_error(of.CUSTOM_MESSAGE, _("Texts are set in the cabinet"))
        if of.object_of(fields, of.RATE_LIMITS):
            fields.add_error(of.RATE_LIMITS, NO_RATE_LIMITS)
        of.object_of(fields, of.SUBSTITUTIONS)
        binding, tags = of.binding(fields), of.tags(fields)
        requester = of.requester(fields, self.principal.company_id)
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
        name = (fields.text(of.CHANNEL) or "").lower()
        if name in {"call", "email", "sna"}:
            raise DomainError(Error.CHANNEL_UNAVAILABLE, message=name)
        if name not in {"", "auto", *BY_NAME}:
            fields.add_error(of.CHANNEL, _("sms, whatsapp or auto"))
        return None if name == "auto" else name

    def _shown(
        self, sent: SentCode, wanted: CodeSendRequest
    ) -> FoundVerification | NewVerification:
        outcome, verification_id = sent.outcome, sent.verification_id
        # Ids begin with milliseconds, and a new code gets its own after its message.
        if verification_id.int >> MILLISECONDS < outcome.message_id.int >> MILLISECONDS:
            return self.find(verification_id)
        now = datetime.now(UTC)
        messages = [NewMessage(outcome.message_id, outcome.channel, now)]
        return NewVerification(verification_id, wanted.phone, wanted.binding, now, messages)


class Verification(TwilioView):
    def get(self, _request: Request, service: str, sid: str) -> HttpResponse:
        self.check_service(service)
        return self.answer(self.verification_body(self.find_by(sid)))

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
        return self.answer(self.verification_body(verification))


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
        return self.answer(self.core(verification) | {"sna_attempts_error_codes": []}, 201)
