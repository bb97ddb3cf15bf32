"""POST /otp/{id}/next and POST /otp/feedback."""

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request

from accounts.masked_phones import mask_phone
from api.idempotency import IdempotentView
from api.request_fields import RequestFields
from catalogue.errors import DomainError, Error
from catalogue.ids import parse_id, public_id
from channels import phone_numbers
from channels.accept.acceptance import Sender
from otp import verifications
from otp.feedback import report_entered
from otp.next_channel import send_by_next_channel
from otp.web.api import PHONE_OR_ID, SendCode, with_hashed_code
from otp.web.calls import DEFAULT_PURPOSE, PURPOSE, VERIFIED_PHONE
from otp.web.own_code_calls import FEEDBACK, NEXT_CHANNEL, REPORTED_CODE, REPORTED_ID


class NextChannel(SendCode):
    calls = (NEXT_CHANNEL,)

    def post(self, request: Request, public_id: str = "") -> HttpResponse:
        payload = self.payload(request)
        verification_id = parse_id("otp", public_id)
        if verification_id is None:
            raise DomainError(Error.NOT_FOUND)
        verification = verifications.find(self.principal, verification_id)
        self.phone = mask_phone(verification.phone)
        self.locale = verification.messages[-1].locale
        idempotency_key = self.idempotency_key(request, payload)
        sender = Sender(self.principal, self.request_id, idempotency_key)

        def effect() -> dict[str, Any]:
            return self.body(send_by_next_channel(sender, verification_id))

        return self.once(idempotency_key, effect, self.rebuild)


class Feedback(IdempotentView):
    calls = (FEEDBACK,)

    def post(self, request: Request) -> HttpResponse:
        payload = self.payload(request)
        fields = RequestFields(payload)
        named, code = fields.text(REPORTED_ID), fields.text(REPORTED_CODE)
        phone, purpose = fields.text(VERIFIED_PHONE), fields.text(PURPOSE)
        if not (named or phone or fields.errors.keys() & {"phone", "id"}):
            fields.add_error(VERIFIED_PHONE, PHONE_OR_ID)
        if phone and not (named or code or "code" in fields.errors):
            fields.add_error(REPORTED_CODE, CODE_OF_PHONE)
        fields.check()
        number = "" if named else phone_numbers.normalise(phone or "", self.principal.country)
        self.phone = mask_phone(number) if number else ""
        of_message, of_verification = _ids(named or "")

        def effect() -> dict[str, Any]:
            verified = report_entered(
                self.principal,
                message_id=of_message,
                verification_id=of_verification,
                phone=number,
                purpose=purpose or DEFAULT_PURPOSE,
                code=code or "",
            )
            return self.success(
                {
                    "id": public_id("otp", verified.id),
                    "phone": verified.phone,
                    "verified_at": verified.verified_at,
                }
            )

        return self.once_atomic(self.idempotency_key(request, with_hashed_code(payload)), effect)


CODE_OF_PHONE = _("Give the code that was entered, or id in place of phone and code")


def _ids(named: str) -> tuple[UUID | None, UUID | None]:
    return parse_id("msg", named), parse_id("otp", named)
