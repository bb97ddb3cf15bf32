"""The base of every view in a dialect: authentication, limits, body, request log, errors.

It extends the API's own, and writes every response in the dialect's format.
"""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, ClassVar
from urllib.parse import parse_qsl
from uuid import UUID

import orjson
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import translation

from accounts.keys.principal import Principal
from accounts.masked_phones import mask_phone
from accounts.models import Scope
from api import response_headers
from api.authentication import authorize
from api.base_view import ApiView
from api.body_admission import EntryPoint, network
from api.calls import CHANGING_METHODS
from api.request_body import read_body
from catalogue.errors import DomainError, Error
from catalogue.ids import uuid_or_none
from catalogue.languages import page_languages
from channels import phone_numbers
from channels.accept.acceptance import Sender
from channels.accept.outcome import WaitForFirstSend
from channels.accept.send_limits import cool_down
from channels.routing.company_policy import locale_for
from compat.dialect import Dialect, Response, dialect_of_path
from otp import verifications
from otp.check.check import VerifiedCode, check_code
from otp.send.code_request import CodeSendRequest
from otp.send.send import SentCode, send_code
from otp.verifications import FoundVerification
from processes.server.gateway import Refusal

FORM = "application/x-www-form-urlencoded"
_PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")
DEFAULT_LANGUAGE = page_languages.worldwide()  # clients' libraries are in English
FIRST_SEND_WAIT = 0.3  # seconds: longer than a send takes to commit, too short to hold threads up
MAX_PATH = 80  # characters: the size of the log's column


class CompatView(ApiView):
    """The base of a dialect's views, which names the `dialect`.

    Their methods `get`, `post`, … call one use case and return `self.respond(body)`, or raise a
    DomainError. Checked before are path, method, key, rate, size and body, in this order.
    """

    dialect: ClassVar[Dialect]
    is_open: ClassVar[bool] = False  # needs no key; its path is in `Dialect.open_paths`
    default_language = DEFAULT_LANGUAGE

    def check_access(self, request: HttpRequest) -> None:
        if not self.is_open:
            self.principal = self.authenticate(request)
            self.count_request(is_audited=request.method in CHANGING_METHODS)

    def authenticate(self, request: HttpRequest) -> Principal:
        return principal_of(self.dialect, request.META)

    def logged_path(self, request: HttpRequest) -> str:
        """The route without ids: `/compat/twilio/v2/Services/{service}`."""
        return _as_declared(request.resolver_match.route if request.resolver_match else "")

    def error_response(self, error: DomainError) -> HttpResponse:
        response = self.respond_with(self.dialect.refuse(error, self.request_id))
        response_headers.ask_for_key(response, error, self.dialect.challenge)
        return response

    def respond(self, body: Any = None, status: int = 200) -> HttpResponse:
        return self.respond_with(Response(status, body))

    def respond_with(self, response: Response) -> HttpResponse:
        body = serialized(response)
        headers = {**response.headers, **self.dialect.echoed(self.request.META)}
        http_response = HttpResponse(body, response.content_type, response.status, headers=headers)
        if not body:
            del http_response["Content-Type"]
        http_response["Content-Length"] = str(len(body))
        return http_response

    def form(self, request: HttpRequest) -> list[tuple[str, str]]:
        body = read_body(request, FORM).decode(errors="replace")
        try:
            return parse_qsl(body, True, max_num_fields=settings.DATA_UPLOAD_MAX_NUMBER_FIELDS)
        except ValueError:  # too many fields
            raise DomainError(Error.INVALID_INPUT) from None

    def number(self, text: str, *, needs_plus: bool = True) -> str:
        """The E.164 form of a number with its country code: the company's country is never assumed.

        Some dialects write numbers without the plus.
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

    def code_request(
        self, phone: str, locale: str | None = None, **options: Any
    ) -> CodeSendRequest:
        """A request for a code of the key's purpose; `options` are the request's other fields."""
        principal = self.principal
        return CodeSendRequest(
            phone=phone,
            purpose=principal.purpose,
            locale=locale or locale_for(principal, phone, principal.purpose),
            door=self.dialect.name,
            resends_custom_code=True,
            **options,
        )

    def send(self, request: CodeSendRequest) -> SentCode:
        sent_code = send_code(sender=Sender(self.principal, self.request_id), request=request)
        self.message_id = sent_code.outcome.message_id
        return sent_code

    def live_despite_cool_down(
        self, request: CodeSendRequest, error: Error, retry_after: int | None
    ) -> FoundVerification | None:
        """The live verification, if our cool-down, which the dialect does not have, refused a send.

        None after another error, for a custom code, and if the live code is bound to another
        payment: the person then has another code. Takes the error's values: an exception among
        the locals of its own traceback is a cycle, which keeps the callers' locals alive.
        """
        too_soon = error is Error.RESEND_TOO_SOON and request.custom_code is None
        live = self.find_started(request.phone, retry_after) if too_soon else None
        return live if live is not None and live.binding == request.binding else None

    def check(
        self,
        code: str,
        *,
        phone: str,
        verification_id: UUID | None = None,
        binding: Mapping[str, Any] | None = None,
    ) -> VerifiedCode:
        """Checks a code; with an id, only against that verification of the phone."""
        return check_code(
            principal=self.principal,
            code=code,
            phone=phone,
            purpose=self.principal.purpose,
            verification_id=verification_id,
            binding=binding,
        )

    def check_found(self, verification: FoundVerification, code: str) -> None:
        self.check(code, phone=verification.phone, verification_id=verification.id)

    def find(self, verification_id: UUID | str) -> FoundVerification:
        """The verification with this id, whose masked number the request log shows.

        Raises `not_found` for a malformed id, and for another company's, mode's or purpose's
        verification.
        """
        found_id = uuid_or_none(str(verification_id))
        if found_id is None:
            raise DomainError(Error.NOT_FOUND)
        verification = verifications.find(self.principal, found_id)
        self.phone = mask_phone(verification.phone)
        return verification

    def find_started(self, phone: str, retry_after: int | None) -> FoundVerification | None:
        """The live verification after a refusal by the cool-down; None if there is none.

        While all of the cool-down is left, the send that began it may be committing: a client
        called twice at once.
        """
        wait = WaitForFirstSend(FIRST_SEND_WAIT)
        while (live := self.find_live(phone)) is None:
            if (retry_after or 0) < cool_down(self.principal.own_limits) or wait.has_ended:
                break
            wait.pause()
        return live

    def find_live(self, phone: str) -> FoundVerification | None:
        """The verification whose code can be entered now."""
        return verifications.find_live(self.principal, phone, self.principal.purpose)


@lru_cache(maxsize=256)
def _as_declared(route: str) -> str:
    return ("/" + _PARAMETER.sub(r"{\1}", route))[:MAX_PATH]


class NotFound(CompatView):
    """Responds to every unknown path of a dialect, with any method."""

    def check_method(self, request: HttpRequest) -> Callable[..., HttpResponse]:
        raise DomainError(Error.NOT_FOUND)


def serialized(response: Response) -> bytes:
    if response.body is None:
        return b""
    return orjson.dumps(response.body, str, orjson.OPT_UTC_Z | orjson.OPT_OMIT_MICROSECONDS)


def principal_of(dialect: Dialect, headers: Mapping[str, Any]) -> Principal:
    """The principal of the request's key; raises a DomainError if it may not use the dialect."""
    return authorize(dialect.find(headers), headers, Scope.VERIFY)


PREFIX = "/compat/"  # of paths whose bodies are admitted, or refused, before Django


def _sender(environ: Mapping[str, Any]) -> str:
    dialect = dialect_of_path(environ["PATH_INFO"])
    if dialect is None:
        raise DomainError(Error.NOT_FOUND)
    if environ["PATH_INFO"].removeprefix(dialect.path) in dialect.open_paths:
        return network(environ)
    return f"key {principal_of(dialect, environ).key_id}"


def _refuse(environ: Mapping[str, Any], error: DomainError, request_id: str) -> Refusal:
    dialect = dialect_of_path(environ["PATH_INFO"])
    if dialect is None:
        response = Response(error.error.status, error.body(request_id=request_id))
    else:
        header = environ.get("HTTP_ACCEPT_LANGUAGE", "")
        with translation.override(page_languages.preferred(header, DEFAULT_LANGUAGE)):
            response = dialect.refuse(error, request_id)
    echoed = dialect.echoed(environ) if dialect else {}
    headers = [("Content-Type", response.content_type), *response.headers.items(), *echoed.items()]
    return Refusal(response.status, headers, serialized(response))


ENTRY_POINT = EntryPoint(_sender, _refuse)
