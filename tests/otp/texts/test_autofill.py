"""Validation of autofill: web origins and Android app hashes."""

import pytest
from django.core.exceptions import ValidationError

from otp.texts import rules


@pytest.mark.parametrize(
    ("typed", "host"),
    [("example.com", "example.com"), (" Login.Example.COM ", "login.example.com"),
     ("пример.рф", "xn--e1afmkfd.xn--p1ai")],
)  # fmt: skip
def test_host_has_one_spelling(typed: str, host: str) -> None:
    assert rules.check_host(typed) == host


@pytest.mark.parametrize(
    "typed",
    ["localhost", "https://example.com", "example.com/a", "example.com:8443", "exa mple.com",
     "10.0.0.1", "-a.example.com", "example..com", "a" * 64 + ".com", "@example.com",
     "example.com #1", "{code}.com", f"{'a.' * 130}com", "ab\ufffd.com"],
)  # fmt: skip
def test_invalid_host_is_refused(typed: str) -> None:
    with pytest.raises(ValidationError):
        rules.check_host(typed)


@pytest.mark.parametrize("typed", ["FA+9qCX9VS", "FA+9qCX9VSu=", "FA-9qCX9VSu", "ФA+9qCX9VSu", ""])
def test_invalid_app_hash_is_refused(typed: str) -> None:
    rules.check_hash("FA+9qCX9VSu")

    with pytest.raises(ValidationError):
        rules.check_hash(typed)
