"""Reports from outside become alerts: certificates, vendors, the doctor's other checks."""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pytest_django import Settings

from operator_admin.alerts import conditions
from operator_admin.doctor import public_access, stores
from tests.certificates import certificate
from tests.channels.accounts import set_account
from tests.loopback import server


@contextmanager
def tls_server(pem: Path) -> Iterator[int]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    with server(lambda plain: context.wrap_socket(plain, server_side=True).close()) as port:
        yield port


def problems(settings: Settings, port: int) -> list[tuple[str, dict[str, object]]]:
    settings.PUBLIC_URL = settings.SHORT_URL = f"https://localhost:{port}"
    return list(conditions.certificate_ends())


@pytest.mark.parametrize(("days", "expected"), [(30, []), (13, [("localhost", {"days": 13})])])
def test_certificate_that_ends_within_two_weeks_raises_an_alert(
    tmp_path: Path,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
    days: int,
    expected: list[object],
) -> None:
    pem = certificate(tmp_path, days)
    monkeypatch.setenv("SSL_CERT_FILE", str(pem))

    with tls_server(pem) as port:
        assert problems(settings, port) == expected
        assert public_access.certificates()[0].ok is (not expected)


def test_untrusted_certificate_is_a_problem(tmp_path: Path, settings: Settings) -> None:
    with tls_server(certificate(tmp_path, 30)) as port:
        ((host, details),) = problems(settings, port)

    assert host == "localhost"
    assert "not trusted" in str(details["days"])


def test_plain_http_has_no_certificate(settings: Settings) -> None:
    settings.PUBLIC_URL = "http://localhost:1"
    settings.SHORT_URL = "http://localhost:1"

    assert list(conditions.certificate_ends()) == []


def test_failed_check_of_the_doctor_is_a_problem(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conditions, "CHECKS", [stores.settings_are_sound])
    assert list(conditions.failed_checks()) == []

    settings.DEBUG = True
    ((name, details),) = conditions.failed_checks()
    assert (name, details["reason"]) == ("settings", "DEBUG is on")


@pytest.mark.django_db
def test_account_that_the_vendor_refuses_is_a_problem(settings: Settings) -> None:
    set_account(settings, "twilio", {"api_url": "http://127.0.0.1:1", "auth_token": "t"})
    for other in ("whatsapp_cloud", "telegram_gateway", "telegram_bot", "max_bot"):
        set_account(settings, other, {"token": ""})

    ((name, details),) = conditions.account_broken()

    assert name == "twilio"
    assert "connection" in details["reason"]
