"""The calls of Infobip 2FA.

A key has one application with message templates, which are derived and not stored: a call that
would create another one returns these.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.utils import timezone

from api.calls import Field, boolean, choice, integer, text
from api.request_body import json_object
from catalogue.channels import BY_NAME
from catalogue.errors import DomainError, Error, invalid_input
from catalogue.ids import public_id
from compat.fields import entered_code, optional, required, values
from compat.infobip.dialect import DIALECT, infobip_id
from compat.view import CompatView
from otp import verifications
from otp.texts import rendering
from otp.verifications import FoundVerification, State

LENGTHS = range(4, 9)
PLACEHOLDER = "{{pin}}"
ID = text(minLength=1, maxLength=64)
NAME_FIELDS = (required("name", text(minLength=1, maxLength=200)),)
DELIVERY_FIELDS = (optional("trackDelivery", boolean()),)
PIN_FIELDS = (
    required("applicationId", ID),
    required("messageId", ID),
    required("to", ID),
    *DELIVERY_FIELDS,
)
GUESS_FIELDS = (entered_code("pin"),)
TEMPLATE_FIELDS = (
    Field("messageText", text(maxLength=1000), "", is_multiline=True),
    required("pinType", choice(("NUMERIC",), "PinType")),
    optional("pinLength", integer(LENGTHS[0], LENGTHS[-1])),
)
TEMPLATE_UPDATE_FIELDS = tuple(field.optional() for field in TEMPLATE_FIELDS)


def pin_length(body: Mapping[str, Any], *, is_new: bool) -> int | None:
    """The PIN length of a message template, which is validated; nothing else of it counts here."""
    template = values(body, TEMPLATE_FIELDS if is_new else TEMPLATE_UPDATE_FIELDS)
    if template["messageText"] is not None and PLACEHOLDER not in template["messageText"]:
        raise invalid_input(messageText=f"Must contain {PLACEHOLDER}")
    length: int | None = template["pinLength"]
    return length


NOT_OFFERED = "Voice and email are not available here; send the PIN by /2fa/2/pin"
ENDED = "This PIN was used or has expired; send a new one"
PIN_ERRORS = {
    Error.CODE_INVALID: "WRONG_PIN",
    Error.CODE_EXPIRED: "TTL_EXPIRED",
    Error.CODE_USED: "NO_MORE_PIN_ATTEMPTS",
    Error.CODE_NOT_FOUND: "TTL_EXPIRED",  # cancelled, or replaced by a newer PIN
    Error.TOO_MANY_ATTEMPTS: "NO_MORE_PIN_ATTEMPTS",
}
STATUS_WHILE_LIVE = {
    Error.RESEND_TOO_SOON: "MESSAGE_SENT",
    Error.RECIPIENT_UNREACHABLE: "MESSAGE_NOT_SENT",
    Error.DELIVERY_FAILED: "MESSAGE_NOT_SENT",
}


class InfobipView(CompatView):
    dialect = DIALECT

    def infobip_id(self, name: str) -> str:
        key = self.principal
        return infobip_id(name, key.company_id, key.mode, key.purpose)

    def check_access(self, request: HttpRequest) -> None:
        super().check_access(request)
        if "application" in self.kwargs:
            self.check_application(self.kwargs["application"])

    def check_application(self, application: str) -> None:
        if application.upper() != self.infobip_id("application"):
            raise DomainError(Error.NOT_FOUND, message="Application not found")

    def length_of(self, message: str) -> int:
        for length in LENGTHS:
            if message.upper() == self.infobip_id(f"message {length}"):
                return length
        raise DomainError(Error.NOT_FOUND, message="Message template not found")

    def application(self) -> dict[str, Any]:
        """The application, with the limits of service and company in Infobip's units."""
        (wrong, hour), *_more = settings.WRONG_CODE_LIMITS
        requests, seconds = settings.API_RATE
        daily = self.principal.own_limits.codes_per_day or settings.CODE_LIMITS[-1][0]
        return {
            "applicationId": self.infobip_id("application"),
            "name": self.principal.purpose,
            "enabled": True,
            "configuration": {
                "pinAttempts": settings.CODE_ATTEMPTS,
                "allowMultiplePinVerifications": False,
                "pinTimeToLive": f"{settings.CODE_LIFETIME}s",
                "verifyPinLimit": f"{wrong}/{hour}s",
                "sendPinPerApplicationLimit": f"{self.principal.api_rate or requests}/{seconds}s",
                "sendPinPerPhoneNumberLimit": f"{daily}/1d",
            },
        }

    def template(self, length: int) -> dict[str, Any]:
        principal = self.principal
        text = rendering.template(
            principal.texts,
            channel=BY_NAME["sms"],
            locale=principal.language,
            purpose=principal.purpose,
            has_link=False,
        )
        brand = principal.brand
        return {
            "messageId": self.infobip_id(f"message {length}"),
            "applicationId": self.infobip_id("application"),
            "messageText": rendering.fill(
                text, code=PLACEHOLDER, brand=brand, minutes=None, link=None
            ),
            "pinPlaceholder": PLACEHOLDER,
            "pinType": "NUMERIC",
            "pinLength": length,
            **({"senderId": brand} if brand else {}),
        }


class Applications(InfobipView):
    def get(self, _request: HttpRequest) -> HttpResponse:
        return self.respond([self.application()])

    def post(self, request: HttpRequest) -> HttpResponse:
        values(json_object(request), NAME_FIELDS)
        return self.respond(self.application())


class Application(InfobipView):
    def get(self, _request: HttpRequest, **_path: str) -> HttpResponse:
        return self.respond(self.application())

    def put(self, request: HttpRequest, **_path: str) -> HttpResponse:
        values(json_object(request), NAME_FIELDS)
        return self.respond(self.application())


class Messages(InfobipView):
    def get(self, _request: HttpRequest, **_path: str) -> HttpResponse:
        company_length = self.principal.code_length
        lengths = sorted(LENGTHS, key=lambda length: length != company_length)
        return self.respond([self.template(length) for length in lengths])

    def post(self, request: HttpRequest, **_path: str) -> HttpResponse:
        length = pin_length(json_object(request), is_new=True)
        return self.respond(self.template(length or self.principal.code_length))


class Message(InfobipView):
    def get(self, _request: HttpRequest, message: str, **_path: str) -> HttpResponse:
        return self.respond(self.template(self.length_of(message)))

    def put(self, request: HttpRequest, message: str, **_path: str) -> HttpResponse:
        length = self.length_of(message)
        options = pin_length(json_object(request), is_new=False)
        if options not in (None, length):
            raise invalid_input(pinLength="The template of another length has another messageId")
        return self.respond(self.template(length))


class SendingView(InfobipView):
    def send_pin(self, phone: str, length: int, *, is_tracked: bool) -> HttpResponse:
        """Sends a PIN and responds about its message.

        During the cool-down it sends nothing and responds about the earlier message. A message that
        could not be delivered is “not sent” to Infobip.
        """
        status = "MESSAGE_SENT"
        try:
            sent_code = self.send(self.code_request(phone, code_length=length))
            verification_id = sent_code.verification_id
            message_id = sent_code.outcome.message_id
        except DomainError as error:
            if error.error not in STATUS_WHILE_LIVE:
                raise
            live = self.find_started(phone, error.retry_after)
            if live is None:
                raise
            verification_id = live.id
            message_id = live.messages[-1].pk
            status = STATUS_WHILE_LIVE[error.error]
        tracked = {"externalMessageId": public_id("msg", message_id)} if is_tracked else {}
        return self.respond(
            {
                "pinId": pin_id(verification_id),
                "to": phone.removeprefix("+"),
                "ncStatus": "NC_DESTINATION_UNKNOWN",  # no network is queried before a send
                "smsStatus": status,
                **tracked,
            }
        )


class Pins(SendingView):
    def post(self, request: HttpRequest) -> HttpResponse:
        fields = values(json_object(request), PIN_FIELDS)
        self.check_application(fields["applicationId"])
        length = self.length_of(fields["messageId"])
        number = self.number(fields["to"], needs_plus=False)
        return self.send_pin(number, length, is_tracked=bool(fields["trackDelivery"]))


class Resend(SendingView):
    def post(self, request: HttpRequest, pin: str) -> HttpResponse:
        fields = values(json_object(request), DELIVERY_FIELDS)
        verification = self.find(pin)
        if verification.state is not State.PENDING:
            raise DomainError(Error.INVALID_INPUT, message=ENDED)
        is_tracked = bool(fields["trackDelivery"])
        return self.send_pin(verification.phone, verification.length, is_tracked=is_tracked)


class Verify(InfobipView):
    def post(self, request: HttpRequest, pin: str) -> HttpResponse:
        """Checks a PIN; the status is 200 for a wrong PIN too."""
        code = values(json_object(request), GUESS_FIELDS)["pin"]
        verification = self.find(pin)
        body = {"pinId": pin_id(verification.id), "msisdn": verification.phone.removeprefix("+")}
        try:
            self.check_found(verification, code)
        except DomainError as error:
            if error.error not in PIN_ERRORS:
                raise
            attempts_left = error.extra.get("attempts_left", 0)
            failed = {"attemptsRemaining": attempts_left, "pinError": PIN_ERRORS[error.error]}
            return self.respond(body | {"verified": False} | failed)
        return self.respond(body | {"verified": True, "attemptsRemaining": 0})


class Statuses(InfobipView):
    def get(self, request: HttpRequest, **_path: str) -> HttpResponse:
        """Lists only the PINs sent to one phone within a code's lifetime; it is no history."""
        query = request.GET
        phone = self.number(query.get("msisdn", ""), needs_plus=False)
        since = timezone.now() - timedelta(seconds=settings.CODE_LIFETIME)
        messages = verifications.listed(self.principal, purpose=self.principal.purpose).filter(
            phone=phone, created_at__gte=since
        )
        of_phone = verifications.of_messages(messages)
        filter_value = query.get("verified", "").lower()
        return self.respond(
            {
                "verifications": [
                    status_of(verification)
                    for verification in of_phone
                    if filter_value in ("", str(verification.state is State.VERIFIED).lower())
                ]
            }
        )


class OtherChannel(CompatView):
    dialect = DIALECT

    def post(self, _request: HttpRequest, **_path: str) -> HttpResponse:
        raise DomainError(Error.FORBIDDEN, message=NOT_OFFERED)


def status_of(verification: FoundVerification) -> dict[str, Any]:
    body = {
        "msisdn": verification.phone.removeprefix("+"),
        "verified": verification.verified_at is not None,
        "sentAt": int(verification.created_at.timestamp() * 1000),
    }
    if verification.verified_at is not None:
        body["verifiedAt"] = int(verification.verified_at.timestamp() * 1000)
    return body


def pin_id(verification_id: UUID) -> str:
    return verification_id.hex.upper()


APPLICATION = "2fa/2/applications/<application>"
SENT = "2fa/2/pin/<pin>"
urlpatterns = [
    path("2fa/2/applications", Applications.as_view()),
    path(APPLICATION, Application.as_view()),
    path(f"{APPLICATION}/messages", Messages.as_view()),
    path(f"{APPLICATION}/messages/<message>", Message.as_view()),
    path(f"{APPLICATION}/verifications", Statuses.as_view()),
    path("2fa/2/pin", Pins.as_view()),
    path(f"{SENT}/verify", Verify.as_view()),
    path(f"{SENT}/resend", Resend.as_view()),
    path("2fa/2/pin/<way>", OtherChannel.as_view()),
    path(f"{SENT}/resend/<way>", OtherChannel.as_view()),
    path(f"{APPLICATION}/email/messages", OtherChannel.as_view()),
]
