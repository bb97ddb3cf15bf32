"""Redis's address: what it may say, and how it is refused without its password."""

import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from celery import current_app
from django.core.exceptions import ImproperlyConfigured
from django.test import override_settings
from kombu.exceptions import OperationalError

from storage.redis_address import is_redis, parse, with_password
from storage.redis_client import redis_client
from tests.config.starting import start
from tests.redis_servers import RedisServer, tls_server

NO_USER = {"username": None, "password": None, "db": 0}
LOCAL = NO_USER | {"host": "h", "port": 6379}
SENTINELS = (("one", 1), ("::1", 26379))


@pytest.mark.parametrize(
    ("url", "scheme", "options"),
    [
        ("redis://h", "redis", LOCAL),
        ("redis://", "redis", LOCAL | {"host": "localhost"}),
        ("redis://h:1/2", "redis", LOCAL | {"port": 1, "db": 2}),
        ("redis://h?db=2", "redis", LOCAL | {"db": 2}),
        ("redis://[::1]:1/", "redis", LOCAL | {"host": "::1", "port": 1}),
        ("redis://:p%40%2F@h", "redis", LOCAL | {"password": "p@/"}),
        ("redis://u:p@h", "redis", LOCAL | {"username": "u", "password": "p"}),
        ("rediss://h?ssl_check_hostname=no", "rediss", LOCAL | {"ssl_check_hostname": False}),
        ("rediss://h?ssl_ca_certs=/ca", "rediss", LOCAL | {"ssl_ca_certs": "/ca"}),
        ("unix:///a/b%20c", "unix", NO_USER | {"path": "/a/b c"}),
        ("unix://u:p@/a?db=3", "unix", {"username": "u", "password": "p", "db": 3, "path": "/a"}),
        ("redis+socket:///a?virtual_host=3", "unix", NO_USER | {"path": "/a", "db": 3}),
    ],
)
def test_address_is_read(url: str, scheme: str, options: dict[str, Any]) -> None:
    address = parse(url)

    assert (address.scheme, address.options) == (scheme, options)
    assert address.sentinels is None
    assert is_redis(url)


def test_sentinels_have_users_and_tls_of_their_own() -> None:
    query = "?sentinel_username=s&sentinel_password=t&ssl_ca_certs=/ca"
    address = parse(f"rediss+sentinel://u:p@one:1,[::1]/main/2{query}")

    assert address.sentinels is not None
    assert (address.sentinels.service, address.sentinels.addresses) == ("main", SENTINELS)
    assert address.sentinels.options == {"username": "s", "password": "t", "ssl_ca_certs": "/ca"}
    assert address.options == {"username": "u", "password": "p", "db": 2, "ssl_ca_certs": "/ca"}


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("", "must begin with redis://"),
        ("localhost:6379", "must begin with redis://"),
        ("http://secret@h", "must begin with redis://"),
        ("redis://:secret@h/zero", "the database must be a number"),
        ("redis://:secret@h:port", "the port must be a number"),
        ("redis://:secret#x@h", "write # / ? in a user name or password as"),
        ("redis://:secret/x@h", "write # / ? in a user name or password as"),
        ("redis://:secret?x@h", "a ? in a password %3F"),
        ("redis+sentinel://:secret\N{ACCOUNT OF}@h", "and name a host"),
        ("redis://h?socket_timeout=9&x=1", "unknown options: socket_timeout, x"),
        ("redis://h?ssl_ca_certs=/ca", "unknown options: ssl_ca_certs"),
        ("rediss://h?ssl_cert_reqs=maybe", "ssl_cert_reqs must be one of none, optional, required"),
        ("rediss://h?ssl_check_hostname=perhaps", "must be true or false"),
        ("redis+sentinel://:secret@h", "no service is named"),
        ("sentinel://:secret@h:26379;sentinel://h", "write redis+sentinel://host:port,host:port/"),
    ],
)
def test_address_that_cannot_work_is_refused_unquoted(url: str, text: str) -> None:
    with pytest.raises(ImproperlyConfigured) as caught:
        parse(url, variable="BROKER")

    assert str(caught.value).startswith("BROKER: ")
    assert text in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("url", ["amqp://h", "memory://", "sqs://"])
def test_other_brokers_are_left_to_celery(url: str) -> None:
    assert not is_redis(url)


@pytest.mark.parametrize(
    ("url", "whole"),
    [
        ("redis://h:1/0", "redis://:p%40%2F@h:1/0"),
        ("redis://u@h", "redis://u:p%40%2F@h"),
        ("unix:///a/b", "unix://:p%40%2F@/a/b"),
        ("redis+sentinel://a:1,b/m", "redis+sentinel://:p%40%2F@a:1,b/m"),
    ],
)
def test_password_may_be_configured_separately(url: str, whole: str) -> None:
    assert with_password(url, "p@/") == whole
    assert with_password(url, "") == url


def test_two_passwords_are_refused() -> None:
    with pytest.raises(ImproperlyConfigured, match="REDIS_PASSWORD: the URL has a password"):
        with_password("redis://:one@h", "two")


def test_password_is_read_from_a_file(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("of a file")

    assert start(REDIS_PASSWORD_FILE=str(secret)).returncode == 0
    refused = start(REDIS_PASSWORD_FILE=str(secret), REDIS_URL="redis://:one@h")
    assert "REDIS_PASSWORD: the URL has a password already" in refused.stderr


def test_broker_that_cannot_be_read_is_refused_at_start() -> None:
    assert "CELERY_BROKER_URL: unknown options" in start(CELERY_BROKER_URL="redis://h?x=1").stderr
    assert start(CELERY_BROKER_URL="amqp://guest@h//").returncode == 0


# --- TLS and a password, for real ---


@pytest.fixture(scope="module")
def encrypted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    directory = tmp_path_factory.mktemp("tls")
    _make_certificate(directory)
    files = [
        word
        for name, file in [("ca-cert", "cert"), ("cert", "cert"), ("key", "key")]
        for word in (f"--tls-{name}-file", str(directory / f"{file}.pem"))
    ]
    server = tls_server(directory, *files, "--requirepass", "p@ss")
    if server is None:
        pytest.skip("no redis-server with TLS on the PATH")
    yield server
    server.kill()


def _make_certificate(directory: Path) -> None:
    names = "subjectAltName=DNS:localhost,IP:127.0.0.1"
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1"),
            *("-subj", "/CN=localhost", "-addext", names),
            *("-keyout", str(directory / "key.pem"), "-out", str(directory / "cert.pem")),
        ],
        check=True,
        capture_output=True,
    )


def encrypted_url(server: RedisServer, *, ca: bool = True, client: bool = True) -> str:
    certificate = server.directory / "cert.pem"
    key = server.directory / "key.pem"
    query = [f"ssl_ca_certs={certificate}"] if ca else []
    query += [f"ssl_certfile={certificate}&ssl_keyfile={key}"] if client else []
    return f"rediss://:p%40ss@localhost:{server.port}/0?{'&'.join(query)}"


def ping(url: str) -> bool:
    with override_settings(REDIS_URL=url):
        redis_client.cache_clear()
        try:
            return bool(redis_client().ping())
        finally:
            redis_client.cache_clear()


def test_client_and_broker_speak_tls(encrypted: RedisServer) -> None:
    url = encrypted_url(encrypted)

    assert ping(url)
    with override_settings(BROKER_URL=url), current_app.connection_for_write() as connection:
        connection.ensure_connection(max_retries=1)


@pytest.mark.parametrize("missing", ["ca", "client"])
def test_certificates_are_checked_on_both_sides(encrypted: RedisServer, missing: str) -> None:
    url = encrypted_url(encrypted, **{missing: False})

    with pytest.raises((redis.ConnectionError, ssl.SSLError)):
        ping(url)
    with (
        override_settings(BROKER_URL=url),
        current_app.connection_for_write() as connection,
        pytest.raises(OperationalError),
    ):
        connection.ensure_connection(max_retries=1, interval_start=0)


def test_wrong_password_is_an_error_of_redis(encrypted: RedisServer) -> None:
    with pytest.raises(redis.ConnectionError):
        ping(encrypted_url(encrypted).replace("p%40ss", "other"))
