"""Views of codes: send, verify, next channel, feedback, list, cancel."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext_lazy as _

from accounts.keys.principal import Principal
from accounts.masked_phones import mask_phone
from api import pagination
from api.base_view import ApiView
from api.idempotency import IdempotencyKey
from api.idempotent_view import IdempotentView
from api.request_fields import QueryFields, RequestFields
from catalogue.errors import DomainError, Error
from catalogue.ids import parse_id, public_id
from channels import phone_numbers
from channels.accept.acceptance import Sender
from channels.accept.send_limits import cool_down
from channels.history import messages
from channels.routing.company_policy import locale_for
from channels.web.fields import CHANNEL, DEFAULT_PURPOSE, LOCALE, PHONE
from channels.web.send_view import SendView
from links.api.parsing import link_for_code
from otp import verifications
from otp.check.check import check_code
from otp.feedback import report_entered
from otp.next_channel import send_by_next_channel
from otp.protection.requesters import NOT_AN_ADDRESS, UNKNOWN, Requester, requester_of
from otp.send.code_request import CodeSendRequest
from otp.send.custom_code import CustomCodeSend
from otp.send.send import SentCode, send_code, sent_code
from otp.verifications import FoundVerification
from otp.web.calls import (
    CHALLENGE,
    CODE,
    CUSTOM_CODE,
    DEVICE_ID,
    IP,
    PURPOSE,
    SEND_CODE,
    TRUSTED,
    VERIFICATION,
    VERIFIED_PHONE,
    VERIFY_CODE,
)
from otp.web.evidence import evidence_of
from otp.web.guess_fields import PHONE_OR_ID, check_digits, parse_target
from otp.web.send_options import parse_binding, parse_options
from otp.web.verification_calls import (
    CANCEL_VERIFICATION,
    FEEDBACK,
    GET_EVIDENCE,
    GET_VERIFICATION,
    IN_STATE,
    LIST_VERIFICATIONS,
    NEXT_CHANNEL,
    REPORTED_CODE,
    REPORTED_ID,
    VERIFICATION_DETAILS,
    WITH_PHONE,
    WITH_PURPOSE,
    WITH_REFERENCE,
)

CODE_OF_PHONE = _("Give the code that was entered, or id in place of phone and code")


def parse_code(payload: Mapping[str, Any], principal: Principal) -> CodeSendRequest:
    """The fields of a send; raises a DomainError that names those at fault."""
    fields = RequestFields(payload)
    phone = fields.text(PHONE)
    purpose = fields.text(PURPOSE) or DEFAULT_PURPOSE
    channel = fields.text(CHANNEL)
    locale = fields.text(LOCALE)
    custom_code = fields.text(CUSTOM_CODE)
    link = link_for_code(fields, principal)
    requester = _requester(fields, principal)
    options = parse_options(fields, principal)
    fields.check()
    number = phone_numbers.normalise(phone or "", principal.country)
    return CodeSendRequest(
        phone=number,
        purpose=purpose,
        locale=locale or locale_for(principal, number, purpose),
        channel=channel,
        link=link,
        requester=requester,
        custom_code=custom_code,
        **options,
    )


def _requester(fields: RequestFields, principal: Principal) -> Requester:
    ip = fields.text(IP)
    device = fields.text(DEVICE_ID)
    is_trusted = bool(fields.boolean(TRUSTED))
    challenge = fields.text(CHALLENGE) or ""
    try:
        return requester_of(
            principal.company_id, ip=ip, device=device, is_trusted=is_trusted, challenge=challenge
        )
    except ValueError:
        fields.add_error(IP, NOT_AN_ADDRESS)
        return UNKNOWN


class KeyedByHashedCode(IdempotentView):
    """Hashes the code with a key before the body is hashed for the Idempotency-Key.

    The body's hash has no key, so anyone who has the database could find the code in it.
    """

    def hashed_payload(self, payload: Mapping[str, Any]) -> Mapping[str, Any]:
        code = payload.get("code")
        if not isinstance(code, str):
            return payload
        hashed = salted_hmac("otp.request", code, algorithm="sha256").hexdigest()
        return {**payload, "code": hashed}


class SendCode(KeyedByHashedCode, SendView):
    calls = (SEND_CODE,)
    kind = "code"
    send = staticmethod(send_code)
    repeat = staticmethod(sent_code)

    def parse(self, payload: dict[str, Any]) -> CodeSendRequest:
        return parse_code(payload, self.principal)

    def guess_limit(
        self, request: CodeSendRequest, key: IdempotencyKey
    ) -> AbstractContextManager[object]:
        """Counts the request as a guess at a custom code.

        With another request's key, the response would reveal whether the code is that request's.
        """
        custom = CustomCodeSend.of(self.principal, request)
        return custom.counted_as_guess(key) if custom else nullcontext()

    def body(self, result: SentCode) -> dict[str, Any]:
        body = self.outcome_body(
            result.outcome,
            verification=public_id("otp", result.verification_id),
            expires_in=result.expires_in,
            resend_in=0 if result.outcome.is_test else cool_down(self.principal.own_limits),
            attempts_left=result.attempts_left,
        )
        return body | {"short_url": result.short_url} if result.short_url else body


class CheckCode(KeyedByHashedCode):
    calls = (VERIFY_CODE,)

    def post(self, request: HttpRequest) -> HttpResponse:
        payload = self.payload(request)
        fields = RequestFields(payload)
        code = fields.text(CODE) or ""
        binding = parse_binding(fields)
        target = parse_target(fields, self.principal)
        self.phone = mask_phone(target.phone)
        check_digits(code, self.principal, target)

        def effect() -> dict[str, Any]:
            verified = check_code(
                principal=self.principal,
                phone=target.phone,
                purpose=target.purpose,
                verification_id=target.id,
                code=code,
                binding=binding,
            )
            return self.success(VERIFICATION.body_of(verified))

        return self.once_atomic(self.idempotency_key(request, payload), effect)


class NextChannel(SendCode):
    calls = (NEXT_CHANNEL,)

    def post(self, request: HttpRequest, public_id: str = "") -> HttpResponse:
        payload = self.payload(request)
        fields = RequestFields(payload)
        requester = _requester(fields, self.principal)
        fields.check()
        verification = find_named(self, public_id)
        if verification.messages:  # a month of archived messages may be gone
            self.locale = verification.messages[-1].locale
        idempotency_key = self.idempotency_key(request, payload)
        sender = Sender(self.principal, self.request_id, idempotency_key)

        def effect() -> dict[str, Any]:
            return self.body(send_by_next_channel(sender, verification.id, requester))

        return self.once(idempotency_key, effect, self.rebuild)


class Feedback(KeyedByHashedCode):
    calls = (FEEDBACK,)

    def post(self, request: HttpRequest) -> HttpResponse:
        payload = self.payload(request)
        fields = RequestFields(payload)
        public_id = fields.text(REPORTED_ID) or ""
        code = fields.text(REPORTED_CODE)
        phone = fields.text(VERIFIED_PHONE)
        purpose = fields.text(PURPOSE)
        if not (public_id or phone or fields.errors.keys() & {"phone", "id"}):
            fields.add_error(VERIFIED_PHONE, PHONE_OR_ID)
        if phone and not (public_id or code or "code" in fields.errors):
            fields.add_error(REPORTED_CODE, CODE_OF_PHONE)
        fields.check()
        number = "" if public_id else phone_numbers.normalise(phone or "", self.principal.country)
        self.phone = mask_phone(number) if number else ""

        def effect() -> dict[str, Any]:
            verified = report_entered(
                self.principal,
                message_id=parse_id("msg", public_id),
                verification_id=parse_id("otp", public_id),
                phone=number,
                purpose=purpose or DEFAULT_PURPOSE,
                code=code or "",
            )
            return self.success(VERIFICATION.body_of(verified))

        return self.once_atomic(self.idempotency_key(request, payload), effect)


class VerificationList(ApiView):
    calls = (LIST_VERIFICATIONS,)

    def get(self, request: HttpRequest) -> HttpResponse:
        return self.respond(self._body(request.GET))

    def _body(self, query: Mapping[str, str]) -> dict[str, Any]:
        params = QueryFields(query)
        principal = self.principal
        phone = params.text(WITH_PHONE)
        reference = params.text(WITH_REFERENCE) or ""
        purpose = params.text(WITH_PURPOSE) or ""
        state = params.text(IN_STATE) or ""
        params.check()
        rows = verifications.listed(principal, purpose=purpose, reference=reference, state=state)
        if phone:
            rows = messages.with_phone(rows, phone_numbers.normalise(phone, principal.country))
        return pagination.list_body(
            rows,
            query,
            VERIFICATION_DETAILS.body_of,
            company_id=principal.company_id,
            # Neither kind nor purpose nor state has an index.
            history=None if phone or reference else verifications.own_messages(principal),
            load=verifications.of_messages,
        )


class VerificationDetail(ApiView):
    calls = (GET_VERIFICATION, CANCEL_VERIFICATION)

    def get(self, request: HttpRequest, public_id: str) -> HttpResponse:
        return self._respond(find_named(self, public_id))

    def delete(self, request: HttpRequest, public_id: str) -> HttpResponse:
        return self._respond(find_named(self, public_id, verifications.cancel))

    def _respond(self, verification: FoundVerification) -> HttpResponse:
        return self.respond(VERIFICATION_DETAILS.body_of(verification))


def find_named(
    view: ApiView,
    public_id: str,
    find: Callable[[Principal, UUID], FoundVerification] = verifications.find,
) -> FoundVerification:
    """The verification of a path; its phone goes to the log of requests."""
    verification_id = parse_id("otp", public_id)
    if verification_id is None:
        raise DomainError(Error.NOT_FOUND)
    verification = find(view.principal, verification_id)
    view.phone = mask_phone(verification.phone)
    return verification


class Evidence(ApiView):
    calls = (GET_EVIDENCE,)

    def get(self, request: HttpRequest, public_id: str) -> HttpResponse:
        body = evidence_of(self.principal.company_id, find_named(self, public_id))
        response = self.respond(body)
        response["Content-Disposition"] = f'attachment; filename="{public_id}.json"'
        return response
