"""The base of every view in a dialect: authentication, limits, body, log of requests, refusals.

It is the API's own, with the dialect's words: nothing that a client can send is answered otherwise.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, ClassVar
from uuid import UUID

import orjson
from django.http import HttpResponse, QueryDict
from django.utils.translation import gettext_lazy as _
from rest_framework.exceptions import MethodNotAllowed
from rest_framework.request import Request

from accounts.keys.api_keys import Principal
from accounts.masked_phones import mask_phone
from accounts.models import Scope
from api.base_view import ApiView, checked
from api.calls import Field
from api.request_fields import RequestFields
from catalogue import languages
from catalogue.errors import DomainError, Error
from channels import phone_numbers
from channels.accept.acceptance import Sender
from channels.models import Message
from compat.dialect import Answer, Dialect
from otp import verifications
from otp.check import Verified, check_code
from otp.protection.send_check import Requester, hashed, network_of
from otp.send import CodeSendRequest, SentCode, send_code
from otp.verifications import FoundVerification

FORM = "application/x-www-form-urlencoded"
_PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")
DEFAULT_LANGUAGE = languages.worldwide()  # of texts within a dialect's words, which are English
NOT_AN_ADDRESS = _("Not an IP address")
MAX_PATH = 80  # characters: what the log's column holds


class CompatView(ApiView):
    """A dialect's base view names the `dialect`; its views have `get`, `post`, … methods that call
    one use case and return `self.respond(Answer(…))`, or raise a DomainError.

    Order of checks: path, method, key, rate, size, body.
    """

    dialect: ClassVar[Dialect]
    is_open: ClassVar[bool] = False  # no key is asked for; its path is among `Dialect.open_paths`
    default_language = DEFAULT_LANGUAGE

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        if request.method not in self.allowed_methods:
            raise MethodNotAllowed(str(request.method))
        if not self.is_open:
            self.principal = self.authenticate(request)
            self.count_request(request)

    def authenticate(self, request: Request) -> Principal:
        return principal_of(self.dialect, request.META)

    def logged_path(self, request: Request) -> str:
        """`/compat/twilio/v2/Services/{service}`."""
        match = request._request.resolver_match  # noqa: SLF001 - DRF's own seam
        return _as_declared(match.route if match else "")

    def refuse(self, error: DomainError) -> HttpResponse:
        answer = self.dialect.refuse(error, self.request_id)
        response = self.respond(answer)
        if error.error is Error.INVALID_API_KEY:
            response["WWW-Authenticate"] = self.dialect.challenge
        return response

    def respond(self, answer: Answer) -> HttpResponse:
        body = written(answer)
        headers = {**answer.headers, **self.dialect.echoed(self.request.META)}
        response = HttpResponse(body, answer.content_type, answer.status, headers=headers)
        if not body:
            del response["Content-Type"]
        response["Content-Length"] = str(len(body))
        return response

    def form(self, request: Request) -> QueryDict:
        """The fields of a form; the last counts of those that are given twice."""
        return QueryDict(self.read_body(request, FORM), encoding="utf-8")

    def number(self, text: str, *, needs_plus: bool = True) -> str:
        """E.164 of an international number: its country comes from itself, never from the company.

        Some dialects write it without the plus.
        """
        text = text.strip()
        if not text.startswith("+"):
            if needs_plus or not text[:1].isdecimal():
                raise DomainError(
                    Error.INVALID_PHONE, errors={"phone": [phone_numbers.NOT_A_PHONE]}
                )
            text = f"+{text}"
        number = phone_numbers.normalise(text, self.principal.country)
        self.phone = mask_phone(number)
        return number

    def send(self, request: CodeSendRequest) -> SentCode:
        sender = Sender(self.principal, self.request_id)
        sent = send_code(sender=sender, request=replace(request, door=self.dialect.name))
        self.message_id = sent.outcome.message_id
        return sent

    def check(
        self,
        code: str,
        *,
        phone: str,
        verification_id: UUID | None = None,
        binding: Mapping[str, Any] | None = None,
    ) -> Verified:
        """With an id no other verification of the phone is judged."""
        return check_code(
            principal=self.principal,
            code=code,
            phone=phone,
            purpose=self.principal.purpose,
            verification_id=verification_id,
            binding=binding,
        )

    def find(self, verification_id: UUID) -> FoundVerification:
        """Raises not_found for another company's, mode's or purpose's."""
        return self._noted(verifications.find(self.principal, verification_id))

    def find_live(self, phone: str) -> FoundVerification | None:
        """The verification whose code can be entered now."""
        return verifications.find_live(self.principal, phone, self.principal.purpose)

    def find_of_message(self, message_id: UUID) -> FoundVerification:
        messages = verifications.own_messages(self.principal).filter(pk=message_id)
        subjects = messages.filter(kind=Message.Kind.CODE).values_list("subject_id", flat=True)
        subject = subjects.first()
        if subject is None:
            raise DomainError(Error.NOT_FOUND)
        return self.find(subject)

    def _noted(self, verification: FoundVerification) -> FoundVerification:
        """Its number is shown in the log of requests."""
        self.phone = mask_phone(verification.phone)
        return verification

    def requester(
        self,
        fields: RequestFields,
        ip: Field,
        device: Field | None = None,
        *,
        is_trusted: bool = False,
    ) -> Requester:
        """Who asks the company for the code, by the dialect's fields."""
        company_id, address = self.principal.company_id, fields.text(ip)
        network = network_of(address) if address else ""
        if network is None:
            fields.add_error(ip, NOT_AN_ADDRESS)
        device_id = fields.text(device) if device else None
        return Requester(
            ip=hashed(company_id, "ip", network or ""),
            device=hashed(company_id, "device", device_id or ""),
            is_trusted=is_trusted,
        )


@lru_cache(maxsize=256)
def _as_declared(route: str) -> str:
    return ("/" + _PARAMETER.sub(r"{\1}", route))[:MAX_PATH]


class NotFound(CompatView):
    """Every unknown path of a dialect, and any method."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        raise DomainError(Error.NOT_FOUND)


def written(answer: Answer) -> bytes:
    if answer.body is None:
        return b""
    return orjson.dumps(answer.body, str, orjson.OPT_UTC_Z)


def principal_of(dialect: Dialect, headers: Mapping[str, Any]) -> Principal:
    """Whose key it is; raises a DomainError if it may not send or check codes here."""
    return checked(dialect.find(headers), headers, Scope.VERIFY)
