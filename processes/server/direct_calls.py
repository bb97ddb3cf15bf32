"""Django's handler, and calls of machines answered past those parts of it that they do not use.

The API's fixed paths, other services' clients and vendors' webhooks make nearly all requests that
reach Django. Their views are called here as its handler would: `SkipPageMiddleware` leaves no
middleware before them anyway. What is spared, 70 of 80 µs, is the search for the route and the
handler's signals, whose receivers end a request's database connection, as is done here, and reset
caches and URLconfs, which these views do not use.
"""

from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from typing import cast
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from django.core.handlers.exception import convert_exception_to_response
from django.core.handlers.wsgi import WSGIHandler, WSGIRequest, get_str_from_wsgi
from django.db import close_old_connections
from django.http import HttpRequest, HttpResponse, parse_cookie
from django.urls import Resolver404, ResolverMatch, resolve
from django.utils.functional import cached_property
from django.utils.http import parse_header_parameters
from django.utils.log import log_response

from parsing.remembered import remembered

PREFIXES = ("/hooks/", "/compat/")  # of paths that are few, and that settings or a key name


MAX_TYPE = 500  # characters of a body's type; a multipart boundary has 70 at most (RFC 2046)


class BoundedRequest(WSGIRequest):
    """A request whose headers cost little to read, and choose no encoding.

    Python reads the parameters of a type, and a quoted cookie with backslashes, in time that grows
    with the square of their length, up to minutes. Django reads the query in the type's charset,
    where nothing handles what `charset=zlib`, or too many parameters, raise.
    """

    def _set_content_type_params(self, meta: WSGIEnvironment) -> None:
        text = meta.get("CONTENT_TYPE", "")
        try:
            read = parse_header_parameters(text if len(text) <= MAX_TYPE else "")
        except (LookupError, ValueError):  # of parameters as RFC 2231 writes them
            read = "", {}
        self.content_type, self.content_params = read

    @cached_property
    def COOKIES(self) -> dict[str, str]:  # type: ignore[override]  # noqa: N802 - Django's
        """The cookies without backslashes, which ours never have."""
        return parse_cookie(get_str_from_wsgi(self.environ, "HTTP_COOKIE", "").replace("\\", ""))


class BoundedHandler(WSGIHandler):
    request_class = BoundedRequest


class DirectCalls:
    """WSGI middleware in front of Django, which answers all other paths."""

    def __init__(self, application: WSGIApplication, fixed_paths: Iterable[str]) -> None:
        self._application = application
        self._fixed: Mapping[str, ResolverMatch] = {path: resolve(path) for path in fixed_paths}
        self._known = remembered(1024)(_resolve_or_none)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        match = self._match(environ.get("PATH_INFO", ""))
        if match is None or environ.get("SCRIPT_NAME"):
            return self._application(environ, start_response)
        request = BoundedRequest(environ)
        request.resolver_match = match
        try:
            response = _respond(request)
            body = b"".join(response)
        finally:
            close_old_connections()
        if response.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
            log_response(
                "%s: %s", response.reason_phrase, request.path, response=response, request=request
            )
        start_response(f"{response.status_code} {response.reason_phrase}", list(response.items()))
        return [body]

    def _match(self, path: str) -> ResolverMatch | None:
        if path.startswith(PREFIXES):
            return self._known(path)
        return self._fixed.get(path)


def _call_view(request: HttpRequest) -> HttpResponse:
    match = cast("ResolverMatch", request.resolver_match)
    return cast("HttpResponse", match.func(request, *match.args, **match.kwargs))


_Respond = Callable[[HttpRequest], HttpResponse]
_respond = cast("_Respond", convert_exception_to_response(_call_view))


def _resolve_or_none(path: str) -> ResolverMatch | None:
    try:
        return resolve(path)
    except Resolver404:
        return None
