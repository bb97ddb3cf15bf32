"""Which URLs a link may lead to, and how they are stored."""

from urllib.parse import urlsplit

import pytest
from django.utils import translation
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings
from urllib3.util import parse_url

from catalogue.errors import DomainError, Error
from links.addresses.target_urls import MAX_LENGTH, check_target
from links.models import BlockedHost, ShortHost
from tests.factories import CompanyFactory

pytestmark = pytest.mark.django_db

UNCHANGED = [
    "https://example.com",
    "http://example.com/path?q=1#part",
    "https://example.com:8443/x",
    "https://example.com?x=1",
    "https://example.com#@evil.example/",
    "https://example.com/a%20b?c=%D0%B9",
    "https://example.com/a/../b",
    "https://example.com/a;b=1,2?x[]=1&y='z'#!/route",
    "https://example.com/?next=https://other.example/a@b",
    "https://t.me/example_bot?start=abc",
    "https://youtu.be/abc",
    "https://facebook.com/shop",
    "https://my_shop.example.com/",
    "https://xn--80a1acny.xn--p1ai/",
    "https://0x7f.example.com/",
    "https://notbit.ly/",
    "https://user.example.com/%00",
    "https://go.kvitok.example.com/",
    "https://brand.example/",
    "https://example.com/?to=https://go.kvitok.example/x",
    "https://example.com:443/",
]
NORMALISED = [
    ("  https://example.com/\n", "https://example.com/"),
    ("HTTPS://Example.COM/Path", "https://example.com/Path"),
    ("https://example.com.", "https://example.com"),
    ("https://example.com:0080/", "https://example.com:80/"),
    ("https://почта.рф/путь", "https://xn--80a1acny.xn--p1ai/%D0%BF%D1%83%D1%82%D1%8C"),
    ("https://example。com/", "https://example.com/"),
    ("https://i❤.example/🫨", "https://xn--i-7iq.example/%F0%9F%AB%A8"),
    ("https://\U0001fae8\U0001fadc.example/", "https://xn--x29hxa.example/"),
    ("https://faß.de/", "https://xn--fa-hia.de/"),
    ("https://نامه\u200cای.example/", "https://xn--mgba3gch31f060k.example/"),
    (
        "https://example.com/نامه\u200cای",
        "https://example.com/%D9%86%D8%A7%D9%85%D9%87%E2%80%8C%D8%A7%DB%8C",
    ),
    (
        "https://example.com/👨\u200d👩\u200d👧",
        "https://example.com/%F0%9F%91%A8%E2%80%8D%F0%9F%91%A9%E2%80%8D%F0%9F%91%A7",
    ),
    ("https://example.com/?q=ёж#ёж", "https://example.com/?q=%D1%91%D0%B6#%D1%91%D0%B6"),
    ("https://example.com/100%", "https://example.com/100%25"),
    ("https://example.com/%zz%41", "https://example.com/%25zz%41"),
    ('https://example.com/<a>"{b}|^`', "https://example.com/%3Ca%3E%22%7Bb%7D%7C%5E%60"),
]
INVALID: list[object] = [
    None,
    7,
    [],
    "",
    "example.com",
    "//example.com/x",
    "https:example.com",
    "https://",
    "ftp://example.com/",
    "javascript:alert(1)",
    "javascript://example.com/%0aalert(1)",
    "intent://example.com/#Intent;end",
    "https://user@example.com/",
    "https://example.com@evil.example/",
    "https://good.example\\@evil.example/",
    "https://example.com/a b",
    "https://example.com/a\tb",
    "https://example.com/a\r\nSet-Cookie: x=1",
    "https://example.com/\0",
    "https://example.com/\x85",
    "https://example.com/\u202egnp.exe",
    "https://exam\u200bple.com/",
    "https://example.com/\ud800",
    "https://example.com/\u00a0x",
    "https://example.com:0/",
    "https://example.com:65536/",
    "https://example.com:１/",
    "https://example.com:1:2/",
    "https://a..example.com/",
    "https://-a.example.com/",
    "https://exam%70le.com/",
    "https://exa[mple.com/",
    f"https://{'a' * 64}.example.com/",
    f"https://{'a.' * 126}example/",
    "https://xn--a.example/",
    "https://example.com\\.evil.example/",
    "https://:@evil.example/",
    "https://good.example%40evil.example/",
    "https://example.com/\u200e",
    "https://example.com/\ufeff",
    "https://example.com:+80/",
    "https://example.com:٨٠/",
    "https://*.example.com/",
    "https://example.com,evil.example/",
    "java\tscript:alert(1)",
    "file:///etc/passwd",
    "https://example.com/" + "a" * MAX_LENGTH,
    "https://example.com/" + "я" * 400,
]
FORBIDDEN = [
    ("https://127.0.0.1/", "IP address"),
    ("https://2130706433/", "IP address"),
    ("https://0x7f000001/", "IP address"),
    ("https://0177.0.0.1/", "IP address"),
    ("https://1.2.3.4./", "IP address"),
    ("https://１２７.0.0.1/", "IP address"),
    ("https://[::1]/", "IP address"),
    ("https://[::ffff:127.0.0.1]:80/", "IP address"),
    ("https://localhost/", "local address"),
    ("https://intranet/", "local address"),
    ("https://printer.local/", "local address"),
    ("https://metadata.google.internal/", "local address"),
    ("https://router.home.arpa/", "local address"),
    ("https://10.0.0.1.nip.io/", "local address"),
    ("https://go.kvitok.example/abc", "leads back"),
    ("https://www.go.kvitok.example/", "leads back"),
    ("https://GO.kvitok.example.:8443/", "leads back"),
    ("https://kvitok.example/", "leads back"),
    ("https://bit.ly/abc", "already shortened"),
    ("https://Clck.ru/abc", "already shortened"),
    ("https://www.shorturl.asia/abc", "already shortened"),
    ("https://reurl.cc/abc", "already shortened"),
    ("https://l.facebook.com/l.php?u=https://evil.example", "already shortened"),
    ("https://аpple.com/", "look-alike"),
    ("https://xn--pple-43d.com/", "look-alike"),
    ("https://good.com∕login.evil.example/", "look-alike"),
    ("https://аррӏе.com/", "look-alike"),
    ("https://gооgle.com/", "look-alike"),
    ("https://0/", "IP address"),
    ("https://0xC0.0xA8.0x01.0x01/", "IP address"),
    ("https://1.2.3.4.5/", "IP address"),
    ("https://169.254.169.254/latest/meta-data/", "IP address"),
    ("https://evil.example.0x7f/", "IP address"),
    ("https://①②⑦.⓪.⓪.①/", "IP address"),
    ("https://[::1", "IP address"),
    ("https://[fe80::1%25eth0]/", "IP address"),
    ("https://https://example.com/", "local address"),
    ("https://WWW.Kvitok.Example./", "leads back"),
    ("https://ｇｏ.kvitok.example/", "leads back"),
    ("https://go.brand.example/", "leads back"),
    ("https://www.go.brand.example/", "leads back"),
    ("https://www.brand.shop.example/", "leads back"),
    ("https://sub.bit.ly./abc", "already shortened"),
    ("https://casino.example/", "blocked"),
    ("https://casino.example:8443/x", "blocked"),
    ("https://fraud.example/", "blocked"),
    ("https://deep.under.fraud.example/", "blocked"),
    ("https://xn--80aswg.xn--p1ai/", "blocked"),
]


@pytest.fixture(autouse=True)
def _hosts(settings: Settings) -> None:
    settings.SHORT_URL = "https://go.kvitok.example"
    settings.PUBLIC_URL = "https://www.kvitok.example"
    settings.LINK_BLOCKLIST = ["casino.example"]
    for site in ("fraud.example", "xn--80aswg.xn--p1ai"):
        BlockedHost.objects.create(host=site)
    company = CompanyFactory.create()
    for host in ("go.brand.example", "www.brand.shop.example"):
        ShortHost.objects.create(host=host, company=company)


@pytest.mark.parametrize("url", UNCHANGED)
def test_valid_url_is_stored_unchanged(url: str) -> None:
    assert check_target(url) == url


@pytest.mark.parametrize(("url", "stored"), NORMALISED)
def test_url_is_stored_in_ascii(url: str, stored: str) -> None:
    assert check_target(url) == stored
    assert check_target(stored) == stored


@pytest.mark.parametrize("url", INVALID)
def test_malformed_url_is_invalid(url: object) -> None:
    with pytest.raises(DomainError) as refusal:
        check_target(url)

    assert refusal.value.error is Error.INVALID_INPUT
    assert list(refusal.value.errors or ()) == ["url"]


@pytest.mark.parametrize(("url", "reason"), FORBIDDEN)
def test_forbidden_url_is_refused_with_the_reason(url: str, reason: str) -> None:
    with pytest.raises(DomainError) as refusal:
        check_target(url)

    assert refusal.value.error is Error.URL_NOT_ALLOWED
    with translation.override("en"):
        assert reason in str(refusal.value.message)


def test_refusal_names_the_field_of_the_request() -> None:
    with pytest.raises(DomainError) as invalid:
        check_target("nonsense", field="link")
    with pytest.raises(DomainError) as forbidden:
        check_target("https://localhost/", field="link")

    assert list(invalid.value.errors or ()) == ["link"]
    assert list(forbidden.value.errors or ()) == ["link"]


def test_url_of_maximum_length_is_accepted() -> None:
    url = "https://example.com/".ljust(MAX_LENGTH, "a")

    assert check_target(url) == url


HOSTS = st.sampled_from(
    ["example.com", "Почта.рф", "a_b.example.com", "日本.jp", "x.co.uk", "ß.de"]
)
PIECES = st.text(st.characters(exclude_categories=["C", "Z"]), max_size=20)
HOSTILE = st.text(st.sampled_from("/\\:@?#%[]. ;&=a1é\u200b\u3002"), max_size=12)


@given(
    st.one_of(
        st.text(max_size=60).map("https://".__add__),
        st.builds("http://{}{}/{}?{}#{}".format, HOSTS, HOSTILE, PIECES, PIECES, PIECES),
        st.builds("https://{}{}".format, HOSTILE, HOSTS),
    )
)
def test_accepted_url_parses_the_same_everywhere(url: str) -> None:
    try:
        stored = check_target(url)
    except DomainError:
        return

    assert stored.isascii()
    assert stored.isprintable()
    assert " " not in stored
    assert check_target(stored) == stored
    assert urlsplit(stored).hostname == parse_url(stored).host
    assert urlsplit(stored).port == parse_url(stored).port
    assert urlsplit(stored).username is None
