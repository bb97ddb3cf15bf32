"""Parses the address of Redis.

`redis://[user:password@]host:port/0`, `rediss://…` for TLS, `unix://[…@]/path?db=0`, and for the
master that Sentinel names `redis+sentinel://[user:password@]host:port,host:port/service/0`, with
TLS `rediss+sentinel://…`. TLS options have redis-py's names. Timeouts are not options.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import SplitResult, parse_qs, quote, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

TCP = "redis"
TLS = "rediss"
UNIX = "unix"
_SENTINEL = {"redis+sentinel": TCP, "rediss+sentinel": TLS}
# `redis+socket` is kombu's spelling.
_SCHEMES = {TCP: TCP, TLS: TLS, "redis+socket": UNIX, UNIX: UNIX, **_SENTINEL}
_KOMBU_SENTINEL = "sentinel"  # kombu's spelling, which names no service
_PORT = 6379
_SENTINEL_PORT = 26379
_TLS_OPTIONS = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile", "ssl_cert_reqs")
_VERIFICATIONS = ("none", "optional", "required")
_TRUE = ("true", "yes", "1")
_FALSE = ("false", "no", "0")


@dataclass(frozen=True)
class Sentinels:
    """The servers to ask for the address of the master called `service`."""

    service: str
    addresses: tuple[tuple[str, int], ...]
    options: Mapping[str, Any] = field(repr=False)  # of redis-py's connection to them


@dataclass(frozen=True)
class RedisAddress:
    scheme: str  # TCP, TLS or UNIX
    options: Mapping[str, Any] = field(repr=False)  # of redis-py's connection; with the password
    sentinels: Sentinels | None = None

    @property
    def celery_url(self) -> str:
        """The address that Celery shows in logs: without user, password and options."""
        host, port = self.options.get("host", "localhost"), self.options.get("port", _PORT)
        if self.sentinels:
            host = self.sentinels.service
        server = f"[{host}]" if ":" in host else quote(host)
        return f"redis://{server}:{port}/{self.options['db']}"


def is_redis(url: str) -> bool:
    """Whether the scheme is one of Redis; a Celery broker may be something else."""
    return url.partition("://")[0] in {*_SCHEMES, _KOMBU_SENTINEL}


def with_password(url: str, password: str, *, variable: str = "REDIS_PASSWORD") -> str:
    """Adds a password that is configured separately; raises ImproperlyConfigured."""
    scheme, _, rest = url.partition("://")
    user, at, _ = rest.partition("/")[0].rpartition("@")
    if not password:
        return url
    if ":" in user:
        raise ImproperlyConfigured(f"{variable}: the URL has a password already")
    return f"{scheme}://{user}:{quote(password, safe='')}@{rest[len(user + at) :]}"


def parse(url: str, *, variable: str = "REDIS_URL") -> RedisAddress:
    """Parses an address; raises ImproperlyConfigured, which never quotes the URL's password."""
    try:
        return _parse(_split(url))
    except ValueError as error:
        raise ImproperlyConfigured(f"{variable}: {error}") from None


def _split(text: str) -> SplitResult:
    """Splits the URL; a # or / in a password would end its host part too early."""
    try:
        url = urlsplit(text)
    except ValueError:  # whose text may quote the password
        raise ValueError("must begin with redis://, and name a host") from None
    if "@" in url.path + url.fragment:
        raise ValueError("write # / ? in a user name or password as %23 %2F %3F")
    return url


def _parse(url: SplitResult) -> RedisAddress:
    if url.scheme == _KOMBU_SENTINEL:
        raise ValueError("write redis+sentinel://host:port,host:port/service/0")
    if url.scheme not in _SCHEMES:
        raise ValueError("must begin with redis://, rediss://, unix:// or redis+sentinel://")
    scheme = _SCHEMES[url.scheme]
    query = {name: values[-1] for name, values in parse_qs(url.query).items()}
    tls = _tls(query) if scheme == TLS else {}
    userinfo, _, servers = url.netloc.rpartition("@")
    user, _, password = userinfo.partition(":")
    options: dict[str, Any] = {
        "username": unquote(user) or query.pop("username", None),
        "password": unquote(password) or query.pop("password", None),
    }
    sentinels = None
    path = unquote(url.path)
    if scheme == UNIX:
        options["path"], path = path, ""
    elif url.scheme in _SENTINEL:
        service, _, path = path.strip("/").partition("/")
        sentinels = _sentinels(service, servers, query, tls)
    else:
        options["host"], options["port"] = _server(servers, _PORT)
    database = query.pop("db", "") or query.pop("virtual_host", "") or path.strip("/")
    options["db"] = _database(database)
    if query:
        raise ValueError(f"unknown options: {', '.join(sorted(query))}")
    return RedisAddress(scheme, options | tls, sentinels)


def _sentinels(
    service: str, servers: str, query: dict[str, str], tls: Mapping[str, Any]
) -> Sentinels:
    if not service:
        raise ValueError("no service is named, as in redis+sentinel://host:port/service/0")
    options: dict[str, Any] = {
        "username": query.pop("sentinel_username", None),
        "password": query.pop("sentinel_password", None),
        **tls,
    }
    addresses = tuple(_server(server, _SENTINEL_PORT) for server in servers.split(","))
    return Sentinels(service, addresses, options)


def _server(text: str, port: int) -> tuple[str, int]:
    try:
        server = urlsplit(f"//{text}")
        return unquote(server.hostname or "localhost"), server.port or port
    except ValueError:  # its text quotes the port, which may be the beginning of a password
        raise ValueError("the port must be a number, and a ? in a password %3F") from None


def _database(text: str) -> int:
    if not text:
        return 0
    if not (text.isascii() and text.isdigit()):
        raise ValueError("the database must be a number, as in redis://host:6379/0")
    return int(text)


def _tls(query: dict[str, str]) -> dict[str, Any]:
    options: dict[str, Any] = {name: query.pop(name) for name in _TLS_OPTIONS if name in query}
    if options.get("ssl_cert_reqs", "required") not in _VERIFICATIONS:
        raise ValueError(f"ssl_cert_reqs must be one of {', '.join(_VERIFICATIONS)}")
    if check := query.pop("ssl_check_hostname", "").lower():
        if check not in (*_TRUE, *_FALSE):
            raise ValueError("ssl_check_hostname must be true or false")
        options["ssl_check_hostname"] = check in _TRUE
    return options
