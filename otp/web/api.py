"""POST /otp/send and POST /otp/verify."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpResponse
from django.utils.translation import gettext_lazy as _
from rest_framework.request import Request

from accounts.keys.api_keys import Principal
from accounts.masked_phones import mask_phone
from api.idempotency import IdempotentView
from api.request_fields import RequestFields
from catalogue.ids import public_id
from channels import phone_numbers
from channels.accept.acceptance import Sender
from channels.accept.send_limits import cool_down
from channels.models import Message
from channels.routing.company_policy import locale_for
from channels.web.fields import CHANNEL, LOCALE, PHONE
from channels.web.send_view import SendView
from links.api.parsing import link_for_code
from otp.check import check_code
from otp.protection.send_check import Requester, hashed, network_of
from otp.send import CodeSendRequest, SentCode, send_code, sent_code
from otp.web.calls import (
    CHALLENGE,
    CODE,
    DEFAULT_PURPOSE,
    DEVICE_ID,
    IP,
    PURPOSE,
    SEND_CODE,
    TRUSTED,
    VERIFY_CODE,
)


def parse_code(payload: Mapping[str, Any], principal: Principal) -> CodeSendRequest:
    """The fields of a send; raises a DomainError that names those at fault."""
    fields = RequestFields(payload)
    phone = fields.text(PHONE)
    purpose = fields.text(PURPOSE) or DEFAULT_PURPOSE
    channel = fields.text(CHANNEL)
    locale = fields.text(LOCALE)
    link = link_for_code(fields, principal)
    requester = _requester(fields, principal)
    fields.check()
    number = phone_numbers.normalise(phone or "", principal.country)
    return CodeSendRequest(
        phone=number,
        purpose=purpose,
        locale=locale or locale_for(principal, number, purpose),
        channel=channel,
        link=link,
        requester=requester,
    )


def _requester(fields: RequestFields, principal: Principal) -> Requester:
    company_id, ip = principal.company_id, fields.text(IP)
    network = network_of(ip) if ip else ""
    if network is None:
        fields.add_error(IP, _("Not an IP address"))
    return Requester(
        ip=hashed(company_id, "ip", network or ""),
        device=hashed(company_id, "device", fields.text(DEVICE_ID) or ""),
        is_trusted=bool(fields.boolean(TRUSTED)),
        challenge=fields.text(CHALLENGE) or "",
    )


class SendCode(SendView):
    calls = (SEND_CODE,)
    kind = "code"

    def parse(self, payload: dict[str, Any]) -> CodeSendRequest:
        return parse_code(payload, self.principal)

    def send(self, sender: Sender, request: CodeSendRequest) -> dict[str, Any]:
        return self.body(send_code(sender=sender, request=request))

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
    calls = (VERIFY_CODE,)

    def post(self, request: Request) -> HttpResponse:
        payload = self.payload(request)
        fields = RequestFields(payload)
        phone = fields.text(PHONE)
        purpose = fields.text(PURPOSE) or DEFAULT_PURPOSE
        code = fields.text(CODE) or ""
        fields.check()
        phone_e164 = phone_numbers.normalise(phone or "", self.principal.country)
        self.phone = mask_phone(phone_e164)

        def effect() -> dict[str, Any]:
            verified = check_code(
                principal=self.principal, phone=phone_e164, purpose=purpose, code=code
            )
            return self.success(
                {
                    "id": public_id("otp", verified.id),
                    "phone": phone_e164,
                    "verified_at": verified.verified_at,
                }
            )

        return self.once_atomic(self.idempotency_key(request, payload), effect)
