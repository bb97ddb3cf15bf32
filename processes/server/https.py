"""Requires HTTPS in production and adds the security headers of every response."""

import re
from collections.abc import Callable, Iterable, Mapping
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, urlsplit
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from django.conf import settings

from catalogue.errors import Error
from parsing.text_cache import text_cache
from processes.server.gateway import RespondEarly
from processes.server.rsgi_response import Headers, Response

PROBE_PATHS = ("/livez", "/readyz")  # called by load balancers over plain HTTP
MACHINE_PATHS = ("/api/", "/compat/", "/hooks/")  # refused, not redirected: they carry secrets
_HOST_NAME = re.compile(r"[a-z0-9.-]{1,253}", re.ASCII)
_NOSNIFF = ("X-Content-Type-Options", "nosniff")
_MAX_AGE = f"max-age={settings.HSTS_SECONDS}"
_PLAIN_HTTP_HEADERS = [_NOSNIFF]
_OUR_HOST_HEADERS = [
    _NOSNIFF,
    ("Strict-Transport-Security", f"{_MAX_AGE}; includeSubDomains; preload"),
]
# A company's subdomains are not ours.
_OTHER_HOST_HEADERS = [_NOSNIFF, ("Strict-Transport-Security", _MAX_AGE)]
_OUR_HOSTS = {urlsplit(url).hostname for url in (settings.PUBLIC_URL, settings.SHORT_URL)}


class TransportSecurity:
    """The outermost WSGI application."""

    def __init__(
        self,
        application: WSGIApplication,
        refuse: Callable[[WSGIEnvironment, Error], Response],
    ) -> None:
        self._application = application
        self._refuse = refuse

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        normalise_forwarded_proto(environ)
        if is_refused(environ):
            status, headers, body = self._respond_to_plain_http(environ)
            start_response(f"{status} {HTTPStatus(status).phrase}", headers)
            return [b"" if environ["REQUEST_METHOD"] == "HEAD" else body]

        def start(status: str, headers: Headers, exc_info: Any = None) -> Any:
            return start_response(status, add_security_headers(headers, environ), exc_info)

        return self._application(environ, start)

    def _respond_to_plain_http(self, environ: WSGIEnvironment) -> Response:
        """Redirects a page to HTTPS; refuses a request that carries a body or a key."""
        host = environ.get("HTTP_HOST", "").partition(":")[0].lower()
        is_page = not environ["PATH_INFO"].startswith(MACHINE_PATHS)
        if not (
            is_page and environ["REQUEST_METHOD"] in {"GET", "HEAD"} and _HOST_NAME.fullmatch(host)
        ):
            return self._refuse(environ, Error.HTTPS_REQUIRED)
        path = quote(environ["PATH_INFO"].encode("latin-1"), safe="/:@!$&'()*+,;=~")
        query = f"?{environ['QUERY_STRING']}" if environ.get("QUERY_STRING") else ""
        location = ("Location", f"https://{host}{path}{query}")
        return 301, [location, ("Content-Length", "0"), _NOSNIFF], b""


def respond_securely(respond: RespondEarly) -> RespondEarly:
    """Applies the rules of `TransportSecurity` to responses made in front of the application."""

    def respond_over_https(environ: Mapping[str, Any]) -> Response | None:
        if is_refused(environ) or (response := respond(environ)) is None:
            return None
        status, headers, body = response
        return status, add_security_headers(headers, environ), body

    return respond_over_https


def is_refused(environ: Mapping[str, Any]) -> bool:
    """Whether the request came over plain HTTP and needs HTTPS."""
    return (
        settings.PRODUCTION
        and not is_secure(environ)
        and environ.get("PATH_INFO") not in PROBE_PATHS
    )


def is_secure(environ: Mapping[str, Any]) -> bool:
    """Whether the request came over HTTPS, by the rule of Django's SECURE_PROXY_SSL_HEADER."""
    if settings.TRUSTED_PROXY_COUNT and "HTTP_X_FORWARDED_PROTO" in environ:
        return bool(_proto(environ["HTTP_X_FORWARDED_PROTO"]) == "https")
    return environ.get("wsgi.url_scheme") == "https"


def normalise_forwarded_proto(environ: WSGIEnvironment) -> None:
    """Reduces a repeated X-Forwarded-Proto to one value; Django would take the first."""
    header = environ.get("HTTP_X_FORWARDED_PROTO")
    if header and "," in header:
        environ["HTTP_X_FORWARDED_PROTO"] = _proto(header)


def _proto(header: str) -> str:
    """The value set by our outermost proxy; values to its left come from the client."""
    if "," not in header:
        return header.strip()
    values = header.split(",")
    return values[-min(max(settings.TRUSTED_PROXY_COUNT, 1), len(values))].strip()


def add_security_headers(headers: Headers, environ: Mapping[str, Any]) -> Headers:
    """Adds security headers to every response; Django's SecurityMiddleware covers pages only."""
    if _NOSNIFF in headers:
        return headers
    if settings.PRODUCTION and is_secure(environ):
        return headers + _https_headers(environ.get("HTTP_HOST", ""))
    return headers + _PLAIN_HTTP_HEADERS


@text_cache(1024)
def _https_headers(host: str) -> Headers:
    return (
        _OUR_HOST_HEADERS if host.partition(":")[0].lower() in _OUR_HOSTS else _OTHER_HOST_HEADERS
    )
