"""The view of all identity servers' calls, and the admission of their bodies."""

import time
import traceback
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import structlog
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse, JsonResponse, UnreadablePostError
from django.http.request import HttpHeaders
from django.utils import translation
from django.views.decorators.csrf import csrf_exempt

from accounts.keys import api_keys
from accounts.masked_phones import mask_phone
from api import request_log
from api.authentication import check_status
from api.base_view import as_domain_error
from api.body_admission import EntryPoint
from api.rate_limit import key_rate_limiter
from catalogue import ids
from catalogue.errors import DomainError, Error
from catalogue.languages import page_languages
from channels import phone_numbers
from channels.accept.outcome import SendOutcome
from identity_hooks import hooks, receive
from identity_hooks.hook_call import CallRefusedError, HookCall, NothingToSendError
from identity_hooks.kind import Kind
from identity_hooks.kinds import kinds
from identity_hooks.models import PATH, Hook
from identity_hooks.responses import refused_json
from processes import logs
from processes.monitoring import metrics
from processes.server.client_ip import client_ip
from processes.server.gateway import Refusal

log = structlog.get_logger(__name__)
MAX_BODY = 65_536  # bytes
# Hooks' ids are below those of keys, and of companies that send from the cabinet (negative ids).
_RATES = -(2**40)


class _LoggedCall:
    """A call, and its entry in the request log."""

    def __init__(self, request: HttpRequest, kind: Kind, path_secret: str) -> None:
        self.request = request
        self.kind = kind
        self.path_secret = path_secret
        self.started = time.perf_counter()
        self.at = time.time()
        self.id = ids.request_id()
        self.code = ""
        self.phone = ""
        self.language = page_languages.preferred(request.META.get("HTTP_ACCEPT_LANGUAGE", ""))
        self.message_id: UUID | None = None
        self.hook: Hook | None = None

    def respond(self, url_id: str) -> HttpResponse:
        """The response, in the language of the person, or else of the company."""
        try:
            outcome = self._send(url_id)
        except NothingToSendError as nothing:
            self.code = nothing.reason
            outcome = None
        except Exception as error:  # the outermost handler: refused in this server's format
            return self._refuse(error)
        with translation.override(self.language):
            return self.kind.respond_sent(outcome)

    def _refuse(self, error: Exception) -> HttpResponse:
        """Refuses in the server's format.

        A separate function, so that no frame of the traceback refers to the refusal: until such a
        cycle is collected granian keeps the connection of an unread body open.
        """
        refusal = as_refusal(error)
        self.code = getattr(refusal, "reason", refusal.error.code)
        if failed := refusal.extra.get("id"):  # accepted by us, refused by the vendor
            self.message_id = ids.parse_id("msg", str(failed))
        with translation.override(self.language):
            response = self.kind.respond_refused(refusal)
        if refusal.error is Error.METHOD_NOT_ALLOWED:
            response["Allow"] = ", ".join(sorted(self.kind.methods))
        return response

    def _send(self, url_id: str) -> SendOutcome:
        if self.request.method not in self.kind.methods:
            raise CallRefusedError("method_not_allowed", Error.METHOD_NOT_ALLOWED)
        hook = self.hook = receive.find(self.kind.name, url_id)
        call = self._authentic_call()
        assert hook is not None  # noqa: S101 - nothing is authentic without one
        principal = api_keys.without_key(hook.company, hook.mode)
        # The rate limit of an API key applies to each hook.
        usage = key_rate_limiter.count(replace(principal, key_id=_RATES - hook.pk))
        if usage is not None and usage.left < 0:
            raise DomainError(Error.RATE_LIMITED, retry_after=usage.wait)
        check_status(principal)
        receive.record_use(hook)
        self.language = page_languages.preferred("", principal.language)
        message = self.kind.read(call, hooks.options_of(hook))
        number = phone_numbers.e164_or_none(message.phone, principal.country)
        self.phone = mask_phone(number) if number else ""
        self.language = page_languages.preferred(message.locale, principal.language)
        outcome = receive.send(hook, principal, message, at=self.at, request_id=self.id)
        self.message_id = outcome.message_id
        return outcome

    def _authentic_call(self) -> HookCall:
        """The call, authenticated by its headers before the body is read if possible."""
        receive.check_caller(
            self.hook, self.kind, call_of(self.request.META, self.at, self.path_secret)
        )
        length = self.request.META.get("CONTENT_LENGTH") or "0"
        if not length.isdigit() or int(length) > MAX_BODY:
            raise CallRefusedError("too_large", Error.INVALID_INPUT)
        body = self.request.body
        call = call_of(self.request.META, self.at, self.path_secret, body)
        if self.hook and not self.kind.is_checked_by_headers:
            receive.check_signature(self.hook, self.kind, call)
        return call

    def log_call(self, status: int) -> None:
        """Logs the call for the company, if its hook is known."""
        if self.hook is None or not request_log.is_on() or self._is_flood():
            return
        request_log.buffer.add(
            request_log.Entry(
                company_id=self.hook.company_id,
                api_key_id=0,
                mode=self.hook.mode,
                request_id=self.id,
                created_at=self.at,
                method=str(self.request.method),
                path=path_template(self.kind.name),
                status=status,
                code=self.code,
                fields=(),
                duration=self.milliseconds,
                phone=self.phone,
                message_id=self.message_id,
            )
        )

    def _is_flood(self) -> bool:
        """Whether to skip logging.

        Nothing limits calls that are unauthenticated, or of a company that may not send yet, so
        only one of them a second is logged.
        """
        is_free = self.code in {*receive.CALLER_REFUSALS, Error.FORBIDDEN.code}
        assert self.hook is not None  # noqa: S101 - checked before
        return is_free and not cache.add(f"hook-refused:{self.hook.pk}", 1, 1)

    @property
    def milliseconds(self) -> int:
        return round((time.perf_counter() - self.started) * 1000)


def call_of(
    meta: Mapping[str, Any], at: float, path_secret: str = "", body: bytes = b""
) -> HookCall:
    """The call from its headers and body, without the WSGI server's own variables."""
    headers = {name.lower(): value for name, value in HttpHeaders(dict(meta)).items()}
    return HookCall(
        method=meta["REQUEST_METHOD"],
        headers=headers,
        query=meta.get("QUERY_STRING", ""),
        body=body,
        at=at,
        ip=client_ip(meta),
        path_secret=path_secret,
    )


def path_template(kind: str) -> str:
    return f"{PATH}/{kind}/{{id}}"


def as_refusal(error: Exception) -> DomainError:
    # The body was not admitted, or the caller disconnected.
    if isinstance(error, UnreadablePostError):
        return CallRefusedError("no_body", Error.INVALID_INPUT)
    refusal = as_domain_error(error)
    if refusal.error is Error.INTERNAL_ERROR:
        # Only place and type: the exception's text may quote the call.
        frames = traceback.extract_tb(error.__traceback__)
        trace = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in frames[-5:]]
        log.error("identity_hook_crash", error=type(error).__name__, where=trace)
        return DomainError(Error.UNAVAILABLE, retry_after=1)
    return refusal


@csrf_exempt
def receive_call(
    request: HttpRequest, kind: str, url_id: str, path_secret: str = ""
) -> HttpResponse:
    """Serves `/hooks/identity/<kind>/<id>`, with a secret at the end for old Zitadel versions."""
    declared = kinds().get(kind)
    if declared is None or (path_secret and kind != "zitadel"):
        return JsonResponse({"code": Error.NOT_FOUND.code}, status=404)
    handling = _LoggedCall(request, declared, path_secret)
    logs.request_id.set(handling.id)
    response = handling.respond(url_id)
    handling.log_call(response.status_code)
    metrics.count_request("IdentityHook", response.status_code, handling.milliseconds / 1000)
    log.info(
        "identity_hook",
        kind=kind,
        hook=handling.hook.pk if handling.hook else None,
        status=response.status_code,
        code=handling.code,
        duration_ms=handling.milliseconds,
    )
    logs.request_id.set(None)
    return _add_headers(response, handling.id)


@csrf_exempt
def refuse_path(request: HttpRequest, kind: str) -> HttpResponse:
    """Refuses a path that no hook has, such as one with a trailing slash."""
    declared = kinds().get(kind)
    respond = declared.respond_refused if declared else refused_json
    header = request.META.get("HTTP_ACCEPT_LANGUAGE", "")
    with translation.override(page_languages.preferred(header)):
        return _add_headers(respond(DomainError(Error.NOT_FOUND)), ids.request_id())


def _add_headers(response: HttpResponse, request_id: str) -> HttpResponse:
    response["X-Request-Id"] = request_id
    response["Cache-Control"] = "no-store"
    response["Content-Length"] = str(len(response.content))
    # Django would log the path of a refusal, which may contain a secret.
    response._has_been_logged = True  # type: ignore[attr-defined]  # noqa: SLF001
    return response


PREFIX = f"{PATH}/"


def _path_parts(environ: Mapping[str, Any]) -> tuple[Kind | None, str, str]:
    rest = environ["PATH_INFO"].removeprefix(PREFIX)
    kind, _, rest = rest.partition("/")
    url_id, _, secret = rest.partition("/")
    return kinds().get(kind), url_id, secret


def _sender(environ: Mapping[str, Any]) -> str:
    """The name under which a body is counted: that of the hook.

    Raises a DomainError if the headers show that the caller is not allowed.
    """
    kind, url_id, secret = _path_parts(environ)
    if kind is None:
        raise DomainError(Error.NOT_FOUND)
    hook = receive.find(kind.name, url_id)
    receive.check_caller(hook, kind, call_of(environ, time.time(), secret))
    assert hook is not None  # noqa: S101 - `check_caller` raises without one
    return f"hook {hook.pk}"


def _refuse(environ: Mapping[str, Any], refusal: DomainError, _request_id: str) -> Refusal:
    kind, _url_id, _secret = _path_parts(environ)
    response = kind.respond_refused(refusal) if kind else refused_json(refusal)
    headers = [("Content-Type", response["Content-Type"])]
    return Refusal(response.status_code, headers, response.content)


ENTRY_POINT = EntryPoint(_sender, _refuse)
