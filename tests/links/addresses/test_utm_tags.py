"""UTM tags are added to targets where missing, and never replace existing ones."""

import pytest

from links.addresses.utm_tags import add_tags
from links.follow.resolution import LinkTarget, Resolver
from tests.factories import LinkFactory, MessageFactory


@pytest.mark.parametrize(
    ("url", "utm", "expected"),
    [
        ("https://a.example/", "", "https://a.example/"),
        ("https://a.example", "utm_source=x", "https://a.example?utm_source=x"),
        ("https://a.example/?b=1", "utm_source=x", "https://a.example/?b=1&utm_source=x"),
        ("https://a.example/?b=1&", "utm_source=x", "https://a.example/?b=1&utm_source=x"),
        ("https://a.example/#c", "utm_source=x", "https://a.example/?utm_source=x#c"),
        ("https://a.example/#c?d=1", "utm_source=x", "https://a.example/?utm_source=x#c?d=1"),
        (
            "https://a.example/?utm_source=own&b=1#c",
            "utm_source=x&utm_medium=y",
            "https://a.example/?utm_source=own&b=1&utm_medium=y#c",
        ),
        ("https://a.example/?utm_source=", "utm_source=x", "https://a.example/?utm_source="),
        ("https://a.example/?utm%5Fsource=1", "utm_source=x", "https://a.example/?utm%5Fsource=1"),
        ("https://a.example/?b=%D1%8F+", "u=1", "https://a.example/?b=%D1%8F+&u=1"),
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

    found = [Resolver().resolve(link.slug) for link in (sent, alone)]

    assert [one.url for one in found if isinstance(one, LinkTarget)] == [
        "https://example.com/?utm_medium=whatsapp",
        "https://example.com/?utm_medium=link",
    ]
