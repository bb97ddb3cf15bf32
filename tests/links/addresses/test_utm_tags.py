"""UTM tags are added to the URL that a link leads to."""

import pytest
from django.utils import translation

from catalogue.errors import DomainError
from links.addresses.utm_tags import MAX_LENGTH, add_tags, check_tags
from links.follow.cached_row import LinkTarget
from links.follow.resolution import Resolver
from tests.factories import LinkFactory, MessageFactory


@pytest.mark.parametrize(
    ("url", "utm", "expected"),
    [
        ("https://a.example/", "", "https://a.example/"),
        ("https://a.example/?b=1", "utm_source=x", "https://a.example/?b=1&utm_source=x"),
        ("https://a.example/#c?d=1", "utm_source=x", "https://a.example/?utm_source=x#c?d=1"),
        (
            "https://a.example/?utm_source=own&b=1#c",
            "utm_source=x&utm_medium=y",
            "https://a.example/?utm_source=own&b=1&utm_medium=y#c",
        ),
        ("https://a.example/?utm_source=", "utm_source=x", "https://a.example/?utm_source="),
        ("https://a.example/?utm%5Fsource=1", "utm_source=x", "https://a.example/?utm%5Fsource=1"),
        ("https://a.example/", "utm_medium={channel}", "https://a.example/?utm_medium=sms"),
        ("https://a.example/?x={channel}", "u=1", "https://a.example/?x={channel}&u=1"),
    ],
)
def test_tags_are_added_before_the_fragment(url: str, utm: str, expected: str) -> None:
    assert add_tags(url, utm, "sms") == expected


@pytest.mark.django_db
def test_channel_tag_is_the_channel_of_the_message() -> None:
    message = MessageFactory.create(channel="whatsapp")
    sent = LinkFactory.create(utm="utm_medium={channel}", message_id=message.pk)
    alone = LinkFactory.create(utm="utm_medium={channel}")

    result = [Resolver().resolve(link.slug) for link in (sent, alone)]

    assert [target.url for target in result if isinstance(target, LinkTarget)] == [
        "https://example.com/?utm_medium=whatsapp",
        "https://example.com/?utm_medium=link",
    ]


@pytest.mark.parametrize(
    ("typed", "kept"),
    [
        ("", ""),
        ("utm_source=kvitok", "utm_source=kvitok"),
        ("?utm_source=kvitok", "utm_source=kvitok"),
        (
            "utm_source=acme&utm_medium={channel}&utm_campaign=otp",
            "utm_source=acme&utm_medium={channel}&utm_campaign=otp",
        ),
        ("a=лето", "a=%D0%BB%D0%B5%D1%82%D0%BE"),
        ("a=100%", "a=100%25"),
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
        ("=x", "Pairs"),
        ("utm-source=x", "Pairs"),
        ("a=1&&b=2", "Pairs"),
        ("a=b=c", "Pairs"),
        ("a=x y", "Pairs"),
        ("a=\u202ex", "Pairs"),
        ("https://example.com/?a=1", "Pairs"),
        ("a=1&a=2", "Each key once"),
        ("a={phone}", "placeholder"),
        ("a={{channel}}", "placeholder"),
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
