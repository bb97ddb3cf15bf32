"""POST /otp/send and POST /otp/verify."""

from typing import Any

from django.http import HttpResponse
from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request

from accounts.api.idempotent_view import IdempotentView
from accounts.api.request_fields import Fields
from accounts.models import Scope
from channels.accept.acceptance import Sender
from channels.accept.send_limits import cool_down
from channels.models import Message
from channels.web.request_fields import channel_field, locale_field, phone_field
from channels.web.send_view import SendView
from config.ids import public_id
from links.web.request_fields import link_for_code
from otp.check import check_code
from otp.send import CodeSendRequest, SentCode, send_code, sent_code

DEFAULT_PURPOSE = "verification"
PURPOSE_LENGTH = 64


class SendCode(SendView):
    scope = Scope.OTP
    kind = "code"

    def parse(self, payload: dict[str, Any]) -> CodeSendRequest:
        fields = Fields(payload)
        phone = fields.text("phone", required=True, longest=64)
        purpose = _purpose(fields)
        channel = channel_field(fields)
        locale = locale_field(fields, self.principal)
        link = link_for_code(fields, self.principal)
        fields.check()
        return CodeSendRequest(
            phone=phone_field(phone, self.principal),
            purpose=purpose,
            locale=locale,
            channel=channel,
            link=link,
        )

    def send(self, sender: Sender, order: CodeSendRequest) -> dict[str, Any]:
        return self.body(send_code(sender=sender, order=order))

    def repeat(self, message: Message) -> dict[str, Any]:
        return self.body(sent_code(message))

    def body(self, sent: SentCode) -> dict[str, Any]:
        body = self.answer(
            sent.outcome,
            expires_in=sent.expires_in,
            resend_in=0 if sent.outcome.is_test else cool_down(self.principal.own_limits),
            attempts_left=sent.attempts_left,
        )
        return body | {"short_url": sent.short_url} if sent.short_url else body


class CheckCode(IdempotentView):
    scope = Scope.OTP

    def post(self, request: Request) -> HttpResponse:
        payload = self.payload(request)
        fields = Fields(payload)
        phone = fields.text("phone", required=True, longest=64)
        purpose = _purpose(fields)
        code = _code(fields)
        fields.check()
        phone_e164 = phone_field(phone, self.principal)

        def effect() -> dict[str, Any]:
            verified = check_code(
                principal=self.principal, phone=phone_e164, purpose=purpose, code=code
            )
            return {
                "success": True,
                "message": VERIFIED,
                "id": public_id("otp", verified.id),
                "phone": phone_e164,
                "verified_at": verified.verified_at,
            }

        return self.once_atomic(self.idempotency_key(request, payload), effect)


VERIFIED = _("The number is verified")


def _purpose(fields: Fields) -> str:
    purpose = fields.text("purpose", longest=PURPOSE_LENGTH)
    if purpose == "":
        fields.fault("purpose", _("1 to 64 characters"))
    return purpose or DEFAULT_PURPOSE


def _code(fields: Fields) -> str:
    """Four to eight ASCII digits, as a string: a number would lose its leading zeros."""
    code = fields.text("code", required=True, longest=64) or ""
    if code and not (code.isascii() and code.isdigit() and 4 <= len(code) <= 8):
        fields.fault("code", _("A string of 4 to 8 digits"))
    return code
