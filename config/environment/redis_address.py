"""Reads where Redis is: `redis://`, `rediss://` (TLS) and `unix://`, with a password or without.

Options of TLS are named as redis-py names them. No other option is taken: timeouts are ours.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

TCP, TLS, UNIX = "redis", "rediss", "unix"
_SCHEMES = {TCP: TCP, TLS: TLS, UNIX: UNIX, "redis+socket": UNIX}  # the last as kombu writes it
_TLS_FILES = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile")
_TLS_OPTIONS = {*_TLS_FILES, "ssl_cert_reqs", "ssl_check_hostname"}
_VERIFICATIONS = ("none", "optional", "required")


@dataclass(frozen=True)
class RedisAddress:
    scheme: str
    options: Mapping[str, Any] = field(repr=False)  # of redis-py's connection: may hold a password

    @property
    def celery_url(self) -> str:
        """What Celery shows in logs: without user, password and options."""
        host, port = self.options.get("host", "localhost"), self.options.get("port", 0)
        server = f"[{host}]" if ":" in host else host
        return f"redis://{server}:{port}/{self.options['db']}"


def is_redis(url: str) -> bool:
    """Whether it is for us to read; a Celery broker may be something else."""
    return url.partition("://")[0] in _SCHEMES


def parse(url: str, *, variable: str = "REDIS_URL") -> RedisAddress:
    """Raises ImproperlyConfigured, whose text never quotes the URL: it may hold a password."""
    try:
        return _parse(urlsplit(url))
    except ValueError as error:
        raise ImproperlyConfigured(f"{variable}: {error}") from None


def _parse(url: SplitResult) -> RedisAddress:
    if url.scheme not in _SCHEMES:
        raise ValueError(f"must begin with {', '.join(f'{name}://' for name in (TCP, TLS, UNIX))}")
    scheme = _SCHEMES[url.scheme]
    query = {name: values[-1] for name, values in parse_qs(url.query).items()}
    path = unquote(url.path)
    is_socket = scheme == UNIX
    database = query.pop("db", "") or query.pop("virtual_host", "")
    options: dict[str, Any] = {
        "db": _database(database or ("" if is_socket else path.strip("/"))),
        "username": unquote(url.username or "") or query.pop("username", None),
        "password": unquote(url.password or "") or query.pop("password", None),
    }
    if is_socket:
        options["path"] = path
    else:
        options |= {"host": unquote(url.hostname or "localhost"), "port": url.port or 6379}
    if scheme == TLS:
        options |= _tls(query)
    if query:
        raise ValueError(f"unknown options: {', '.join(sorted(query))}")
    return RedisAddress(scheme, options)


def _database(text: str) -> int:
    if not text:
        return 0
    if not (text.isascii() and text.isdigit()):
        raise ValueError("the database must be a number, as in redis://host:6379/0")
    return int(text)


def _tls(query: dict[str, str]) -> dict[str, Any]:
    given: dict[str, Any] = {name: query.pop(name) for name in _TLS_OPTIONS & query.keys()}
    if given.get("ssl_cert_reqs", "required") not in _VERIFICATIONS:
        raise ValueError(f"ssl_cert_reqs must be one of {', '.join(_VERIFICATIONS)}")
    if "ssl_check_hostname" in given:
        text = given["ssl_check_hostname"].lower()
        if text not in {"true", "false", "yes", "no", "1", "0"}:
            raise ValueError("ssl_check_hostname must be true or false")
        given["ssl_check_hostname"] = text in {"true", "yes", "1"}
    return given
