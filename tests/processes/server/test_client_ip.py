"""A client has one address however it is written; a malformed one stays as it came."""

import pytest
from django.test import RequestFactory
from pytest_django import Settings

from processes.server.client_ip import address_of, client_ip, client_network

IPV4 = "203.0.113.7"
IPV6 = "2001:db8::1"


@pytest.mark.parametrize(
    ("written", "address"),
    [
        (IPV4, IPV4),
        (f"{IPV4}:51234", IPV4),
        (IPV6, IPV6),
        (f"[{IPV6}]", IPV6),
        (f"[{IPV6}]:51234", IPV6),
        ("::ffff:203.0.113.7", IPV4),
        ("::ffff:203.0.113.7:51234", IPV4),
        ("::FFFF:203.0.113.7:51234", IPV4),
        ("::ffff:1234:5678", "18.52.86.120"),  # in hexadecimal, without a port
        ("[::ffff:203.0.113.7]:443", IPV4),
        ("0:0:0:0:0:FFFF:CB00:7107", IPV4),
        ("2001:db8::1:8080", "2001:db8::1:8080"),  # no port: it has no brackets
    ],
)
def test_client_has_one_address_however_it_is_written(
    settings: Settings, written: str, address: str
) -> None:
    settings.TRUSTED_PROXY_COUNT = 1
    headers = {"X-Forwarded-For": f"198.51.100.9:1, {written}"}
    request = RequestFactory().get("/", headers=headers)

    assert client_ip(request.META) == address
    assert address_of(request) is not None
    assert client_network(client_ip(request.META))


@pytest.mark.parametrize("written", ["unknown", "203.0.113.7:", ":1", "[]:1", "[x]:1", "a:1"])
def test_malformed_client_address_stays_as_it_came(settings: Settings, written: str) -> None:
    settings.TRUSTED_PROXY_COUNT = 1
    meta = {"HTTP_X_FORWARDED_FOR": written}

    assert client_ip(meta) == written
    assert client_network(written) == ""
