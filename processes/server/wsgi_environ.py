"""A WSGI environ (PEP 3333) from granian's RSGI scope."""

import sys
from typing import Any
from wsgiref.types import WSGIEnvironment

from parsing.text_cache import text_cache

_BASE: WSGIEnvironment = {
    "GATEWAY_INTERFACE": "CGI/1.1",
    "SCRIPT_NAME": "",
    "SERVER_SOFTWARE": "Granian",
    "wsgi.errors": sys.stderr,
    "wsgi.multiprocess": True,
    "wsgi.multithread": True,
    "wsgi.run_once": False,
    "wsgi.version": (1, 0),
}
_PROTOCOLS = {"1": "HTTP/1.0", "1.1": "HTTP/1.1"}
_BARE_HEADERS = {"CONTENT_TYPE", "CONTENT_LENGTH"}  # without HTTP_ in the environ
FORWARDED = ("x-forwarded-for", "x-forwarded-proto")


class MalformedRequestError(ValueError):
    """A forwarding header holds bytes that are not ASCII."""


def build_environ(scope: Any) -> WSGIEnvironment:
    """The WSGI environ of a request.

    Header names with an underscore are left out: they would collide with names with a hyphen.
    Repeated headers are joined in order. Raises MalformedRequestError.
    """
    server, _, port = scope.server.rpartition(":")
    address, _, client_port = scope.client.rpartition(":")
    environ = _BASE | {
        "SERVER_PROTOCOL": _PROTOCOLS.get(scope.http_version, "HTTP/1.1"),
        "SERVER_NAME": server.strip("[]"),
        "SERVER_PORT": port,
        "REMOTE_ADDR": address.strip("[]"),
        "REMOTE_PORT": client_port,
        "REQUEST_METHOD": scope.method,
        "PATH_INFO": _latin1(scope.path),
        "QUERY_STRING": _latin1(scope.query_string),
        "wsgi.url_scheme": scope.scheme,
    }
    _add_headers(environ, scope.headers)
    if "HTTP_HOST" not in environ:
        environ["HTTP_HOST"] = scope.authority or ""
    return environ


def _add_headers(environ: WSGIEnvironment, headers: Any) -> None:
    names = 0
    previous = ""
    for name, value in headers.items():  # lines with the same name are adjacent
        key = _environ_key(name)
        if name != previous:
            names += 1
            previous = name
            if key:
                environ[key] = value
        elif key:
            environ[key] += f"{'; ' if key == 'HTTP_COOKIE' else ','}{value}"
    if names != len(headers):
        _add_non_ascii(environ, headers)


def _add_non_ascii(environ: WSGIEnvironment, headers: Any) -> None:
    """Adds headers with non-ASCII values, which `items` omits."""
    for name in headers.keys():  # noqa: SIM118 - not a mapping
        key = _environ_key(name)
        if key and key not in environ:
            if name in FORWARDED:
                raise MalformedRequestError(name)
            environ[key] = ""


@text_cache(1024)
def _environ_key(name: str) -> str:
    if "_" in name:
        return ""
    key = name.upper().replace("-", "_")
    return key if key in _BARE_HEADERS else f"HTTP_{key}"


def _latin1(text: str) -> str:
    """The text as PEP 3333 wants it, with its bytes as Latin-1."""
    return text if text.isascii() else text.encode().decode("latin-1")
