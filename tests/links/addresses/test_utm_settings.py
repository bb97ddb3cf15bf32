"""UTM settings: what a company may enter, and their stored form."""

import pytest
from django.utils import translation

from config.errors import DomainError
from links.addresses.utm_settings import MAX_LENGTH, check_tags


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("", ""),
        ("  ", ""),
        ("utm_source=kvitok", "utm_source=kvitok"),
        ("?utm_source=kvitok", "utm_source=kvitok"),
        (
            "utm_source=acme&utm_medium={channel}&utm_campaign=otp",
            "utm_source=acme&utm_medium={channel}&utm_campaign=otp",
        ),
        ("a=x-{channel}-{channel}", "a=x-{channel}-{channel}"),
        ("a=лето", "a=%D0%BB%D0%B5%D1%82%D0%BE"),
        ("a=100%", "a=100%25"),
        ("a=1%2B1", "a=1%2B1"),
        ("a=1+1", "a=1+1"),
        ("n" * 99 + "=" + "v" * 200, "n" * 99 + "=" + "v" * 200),
    ],
)
def test_tags_are_kept_in_ascii(typed: str, kept: str) -> None:
    assert check_tags(typed) == kept
    assert check_tags(kept) == kept


@pytest.mark.parametrize(
    ("typed", "reason"),
    [
        ("utm_source", "Pairs"),
        ("utm_source=", "Pairs"),
        ("=x", "Pairs"),
        ("UTM=x", "Pairs"),
        ("utm-source=x", "Pairs"),
        ("метка=x", "Pairs"),
        ("a=1&", "Pairs"),
        ("a=1&&b=2", "Pairs"),
        ("a=b=c", "Pairs"),
        ("a=x y", "Pairs"),
        ("a=x#y", "Pairs"),
        ("a=x\ny", "Pairs"),
        ("a=\u202ex", "Pairs"),
        ("a=<b>", "Pairs"),
        ("a=\ud800", "Pairs"),
        ("https://example.com/?a=1", "Pairs"),
        ("a=1&a=2", "Each key once"),
        ("a={phone}", "placeholder"),
        ("a={channel", "placeholder"),
        ("a={{channel}}", "placeholder"),
        ("a={Channel}", "placeholder"),
        ("a=" + "x" * (MAX_LENGTH - 1), "At most"),
        ("a=" + "я" * 50, "At most"),
    ],
)
def test_malformed_tags_are_refused_with_the_rule(typed: str, reason: str) -> None:
    with pytest.raises(DomainError) as refusal:
        check_tags(typed)

    assert refusal.value.errors is not None
    (text,) = refusal.value.errors["utm"]
    with translation.override("en"):
        assert reason in str(text)
