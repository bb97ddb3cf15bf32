"""The base of all API views: order of checks, response envelope, refusals, log."""

import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar
from uuid import UUID

import orjson
import psycopg_pool
import structlog
from django.conf import settings
from django.core.exceptions import SuspiciousOperation
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, UnreadablePostError
from django.http.response import HttpResponseBase
from django.utils import translation
from django.utils.functional import Promise
from django.views import View
from django.views.decorators.csrf import csrf_exempt

from accounts.keys.principal import Principal
from accounts.masked_phones import mask_phones_in
from api import request_fields, request_log, response_headers, unknown_fields
from api.authentication import identify
from api.calls import Call
from api.rate_limit import Usage, consume_test_quota, key_rate_limiter
from api.request_body import json_object
from catalogue import ids
from catalogue.errors import DomainError, Error
from catalogue.languages import page_languages
from processes import logs
from processes.monitoring import metrics, tracing
from storage.heavy_work import TooBusyError

log = structlog.get_logger(__name__)
LOGGED_NAME = 40  # characters: the size of the log's column
LOGGED_PATH = 200  # characters: a stranger may send 32 KB
_SECRET = re.compile(r"((?:kv_(?:live|test)|whsec)_\w{0,4})\S*")  # group 1: what lists show of it
DATABASE_UNAVAILABLE = (OperationalError, InterfaceError, psycopg_pool.PoolTimeout)
ERROR_OF_EXCEPTION: dict[type[Exception], Error] = {
    Http404: Error.NOT_FOUND,
    SuspiciousOperation: Error.INVALID_INPUT,
    # The body was not read because the key was invalid when the request was admitted.
    UnreadablePostError: Error.UNAVAILABLE,
}


class ApiResponse(HttpResponse):
    """JSON from a mapping, or from stored text that is replayed as it is."""

    def __init__(self, body: Mapping[str, Any] | str, status: int = 200) -> None:
        text = (
            body
            if isinstance(body, str)
            else orjson.dumps(body, _text_of_promise, orjson.OPT_UTC_Z)
        )
        super().__init__(text, status=status, content_type="application/json")
        self["Content-Length"] = str(len(self.content))  # otherwise the body is chunked


def _text_of_promise(value: object) -> str:
    """Turns lazy texts, which orjson cannot serialise, into texts in the active language."""
    if isinstance(value, Promise):
        return str(value)
    raise TypeError


class ApiView(View):
    """The base of API views: checks path, method, key, rate, size, JSON and fields, in this order.

    Every refusal is a DomainError, and every other exception becomes one.
    """

    http_method_names = ["get", "head", "post", "put", "patch", "delete"]
    calls: ClassVar[tuple[Call, ...]] = ()  # one for each method
    max_body: ClassVar[int] = settings.MAX_API_BODY
    default_language: ClassVar[str] = ""  # for clients without a preference; empty: the service's

    call: Call
    principal: Principal  # set once the key is identified, if there is one
    request_id: str
    rate: Usage | None = None
    # For the company's request log. Not the exception itself: its traceback refers to the view, and
    # until such a cycle is collected granian keeps the connection of an unread body open.
    error_code = ""
    faulty_fields: tuple[str, ...] = ()
    warnings: Sequence[unknown_fields.FieldWarning] = ()
    phone = ""  # masked
    message_id: UUID | None = None

    @classmethod
    def as_view(cls, **initkwargs: Any) -> Callable[..., HttpResponseBase]:
        return csrf_exempt(super().as_view(**initkwargs))

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Handles the request in its language, in which a response is also stored for replays."""
        self.started = time.perf_counter()
        self.request_id = ids.request_id()
        tracing.begin_request()
        logs.request_id.set(self.request_id)
        header = request.META.get("HTTP_ACCEPT_LANGUAGE", "")
        language = page_languages.preferred(header, self.default_language)
        with translation.override(language):
            try:
                handler = self.check_method(request)
                self.check_access(request)
                response = handler(request, *args, **kwargs)
            except Exception as error:
                response = self.response_to_exception(error)
            return self.finish(request, response)

    def check_method(self, request: HttpRequest) -> Callable[..., HttpResponse]:
        """The handler of the request's method; raises `method_not_allowed` if there is none."""
        if request.method not in self.allowed_methods:
            raise DomainError(Error.METHOD_NOT_ALLOWED)
        handler: Callable[..., HttpResponse] = getattr(self, request.method.lower())
        return handler

    @property
    def allowed_methods(self) -> list[str]:
        return [name.upper() for name in self.http_method_names if hasattr(self, name)]

    def check_access(self, request: HttpRequest) -> None:
        method = "GET" if request.method == "HEAD" else request.method
        self.call = next(call for call in self.calls if call.method == method)
        self.principal = self.authenticate(request)
        self.count_request(is_audited=self.call.is_audited)
        if self.call.query is not None:
            request_fields.check_names(request.GET, [field.name for field in self.call.query])

    def authenticate(self, request: HttpRequest) -> Principal:
        return identify(request.META, self.call.scope)

    @classmethod
    def path(cls) -> str:
        """The path that all its calls share."""
        (path,) = {call.path for call in cls.calls}
        return path

    def shown_path(self, request: HttpRequest) -> str:
        """The path for logs and traces, without the phone that a call's path has and an unknown
        path may have.
        """
        if not self.calls:
            return mask_phones_in(request.path)[:LOGGED_PATH]
        declared = self.calls[0].path
        return f"/api/v1{declared}" if "{phone}" in declared else request.path[:LOGGED_PATH]

    def success(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The body with the envelope around it."""
        envelope = {"success": True, "message": self.call.message, **body}
        return envelope | {"warnings": self.warnings} if self.warnings else envelope

    def respond(self, body: Mapping[str, Any]) -> HttpResponse:
        return ApiResponse(self.success(body))

    def error_body(self, error: DomainError) -> dict[str, Any]:
        body = error.body(request_id=self.request_id)
        return body | {"warnings": self.warnings} if self.warnings else body

    def error_response(self, error: DomainError) -> HttpResponse:
        response = ApiResponse(self.error_body(error), error.error.status)
        response_headers.ask_for_key(response, error)
        return response

    def response_to_exception(self, error: Exception) -> HttpResponse:
        """The error response for an exception."""
        refusal = as_domain_error(error)
        self.error_code = refusal.error.code
        self.faulty_fields = tuple(refusal.errors or ())
        if refusal.error is Error.INTERNAL_ERROR:
            log.error("api_crash", exc_info=error)
        response = self.error_response(refusal)
        response_headers.add_to_refusal(response, refusal, self.allowed_methods)
        return response

    def count_request(self, *, is_audited: bool) -> None:
        usage = key_rate_limiter.count(self.principal)
        self.rate = usage
        if usage is not None and usage.left < 0:
            raise DomainError(Error.RATE_LIMITED, retry_after=usage.wait)
        if self.principal.is_test and is_audited:
            consume_test_quota(self.principal.company_id, "changes")

    def payload(self, request: HttpRequest) -> dict[str, Any]:
        """The body of a call as a JSON object; warns of fields that the call does not know."""
        payload = json_object(request, self.max_body)
        if warnings := unknown_fields.warnings_of(payload, self.call):
            self.warn(request, warnings)
        return payload

    def warn(self, request: HttpRequest, warnings: Sequence[unknown_fields.FieldWarning]) -> None:
        unknown_fields.check_strictness(request, warnings, self.call)
        self.warnings = warnings

    def finish(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        response_headers.add_to_all(response, self.request_id, self.rate)
        seconds = time.perf_counter() - self.started
        metrics.count_request(type(self).__name__, response.status_code, seconds)
        if request_log.is_on() and hasattr(self, "principal"):
            self._log_request(request, response, seconds)
        if tracing.is_on():
            self._trace(request, response, seconds)
        log.info(
            "api_request",
            method=request.method,
            path=self.shown_path(request),
            status=response.status_code,
            duration_ms=round(seconds * 1000, 1),
            key_id=getattr(getattr(self, "principal", None), "key_id", None),
        )
        # Django would log every refusal again, and a vendor's refusal as our error.
        response._has_been_logged = True  # type: ignore[attr-defined]  # noqa: SLF001
        logs.request_id.set(None)
        return response

    def _log_request(self, request: HttpRequest, response: HttpResponse, seconds: float) -> None:
        key = self.principal
        entry = request_log.Entry(
            company_id=key.company_id,
            api_key_id=key.key_id,
            mode=key.mode,
            request_id=self.request_id,
            created_at=time.time() - seconds,
            method=str(request.method),
            path=self.logged_path(request),
            status=response.status_code,
            code=self.error_code,
            fields=self._named_fields(),
            duration=round(seconds * 1000),
            phone=self.phone,
            message_id=self.message_id,
        )
        request_log.buffer.add(entry)

    def logged_path(self, _request: HttpRequest) -> str:
        """The declared path, which has names of parameters instead of ids."""
        return self.call.path

    def _named_fields(self) -> tuple[str, ...]:
        """Fields named in the response: faulty, then unknown ones, with phones and keys masked."""
        names = (*self.faulty_fields, *(warning["field"] for warning in self.warnings))
        return tuple(mask_phones_in(_SECRET.sub(r"\1…", name))[:LOGGED_NAME] for name in names)

    def _trace(self, request: HttpRequest, response: HttpResponse, seconds: float) -> None:
        attributes: dict[str, str | int] = {
            "http.request.method": str(request.method),
            "http.route": self.shown_path(request),
            "http.response.status_code": response.status_code,
            "kvitok.request.id": self.request_id,
        }
        traceparent = request.META.get("HTTP_TRACEPARENT", "")
        name = f"{request.method} {attributes['http.route']}"
        tracing.record_request(name, seconds, attributes, traceparent)


def as_domain_error(error: Exception) -> DomainError:
    if isinstance(error, DomainError):
        return error
    if isinstance(error, DATABASE_UNAVAILABLE):
        if isinstance(error, TooBusyError):
            log.warning("too_busy", error=str(error))
        else:
            log.error("database_unavailable", error=type(error).__name__)
        return DomainError(Error.UNAVAILABLE, retry_after=1)
    kind = next((kind for kind in ERROR_OF_EXCEPTION if isinstance(error, kind)), None)
    return DomainError(ERROR_OF_EXCEPTION[kind] if kind else Error.INTERNAL_ERROR)


class NotFoundView(ApiView):
    """Responds to every unknown path under /api/."""

    def check_method(self, request: HttpRequest) -> Callable[..., HttpResponse]:
        raise DomainError(Error.NOT_FOUND)
