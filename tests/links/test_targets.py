from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings
from urllib3.util import parse_url

from config.errors import DomainError, Error
from links.targets import MAX_LENGTH, check_target

pytestmark = pytest.mark.django_db

UNCHANGED = [
    "https://example.com",
    "https://example.com/",
    "http://example.com/path?q=1#part",
    "https://shop.example/order/1",
    "https://app.test/callback",
    "https://example.com:8443/x",
    "https://example.com?x=1",
    "https://example.com/?",
    "https://example.com#@evil.example/",
    "https://example.com/a%20b?c=%D0%B9",
    "https://example.com//double//slash",
    "https://example.com/a/../b",
    "https://example.com/a;b=1,2?x[]=1&y='z'#!/route",
    "https://example.com/?next=https://other.example/a@b",
    "https://t.me/example_bot?start=abc",
    "https://wa.me/79990000000",
    "https://r3---sn-abc.example.com/videoplayback",
    "https://my_shop.example.com/",
    "https://xn--80a1acny.xn--p1ai/",
    "https://1.example.com/",
    "https://0x7f.example.com/",
    "https://bit.ly.example.com/",
    "https://notbit.ly/",
    "https://localhost.example.com/",
    "https://user.example.com/%00",
]
NORMALISED = [
    ("  https://example.com/\n", "https://example.com/"),
    ("HTTPS://Example.COM/Path", "https://example.com/Path"),
    ("https://example.com.", "https://example.com"),
    ("https://example.com:/x", "https://example.com/x"),
    ("https://example.com:0080/", "https://example.com:80/"),
    ("https://почта.рф/путь", "https://xn--80a1acny.xn--p1ai/%D0%BF%D1%83%D1%82%D1%8C"),
    ("https://münchen.example/", "https://xn--mnchen-3ya.example/"),
    ("https://example。com/", "https://example.com/"),
    ("https://ｅxample.com/", "https://example.com/"),
    ("https://日本語テキスト.jp/", "https://xn--nckya0bk5909dcvb2w6i.jp/"),
    ("https://example.com/?q=ёж#ёж", "https://example.com/?q=%D1%91%D0%B6#%D1%91%D0%B6"),
    ("https://example.com/100%", "https://example.com/100%25"),
    ("https://example.com/%zz%41", "https://example.com/%25zz%41"),
    ('https://example.com/<a>"{b}|^`', "https://example.com/%3Ca%3E%22%7Bb%7D%7C%5E%60"),
    ("https://example.com/#a#b", "https://example.com/#a%23b"),
]
INVALID: list[object] = [
    None,
    7,
    True,
    [],
    "",
    "   ",
    "example.com",
    "//example.com/x",
    "/path",
    "https:example.com",
    "https:/example.com",
    "https:///example.com",
    "https://",
    "https://?x=1",
    "ftp://example.com/",
    "javascript:alert(1)",
    "javascript://example.com/%0aalert(1)",
    "data:text/html,hi",
    "intent://example.com/#Intent;end",
    "mailto:a@example.com",
    "https://user@example.com/",
    "https://user:secret@example.com/",
    "https://example.com@evil.example/",
    "https://good.example\\@evil.example/",
    "https://good.example\\evil",
    "https://example.com/a b",
    "https://exam ple.com/",
    "https://example.com/a\tb",
    "https://example.com/a\r\nSet-Cookie: x=1",
    "https://example.com/\0",
    "https://example.com/\x7f",
    "https://example.com/\x85",
    "https://example.com/\u202egnp.exe",
    "https://exam\u200bple.com/",
    "https://example.com/\u2066x",
    "https://example.com/\ud800",
    "https://example.com/\u00a0x",
    "https://example.com:0/",
    "https://example.com:65536/",
    "https://example.com:99999/",
    "https://example.com:-1/",
    "https://example.com:8o/",
    "https://example.com:１/",
    "https://example.com:1:2/",
    "https://a..example.com/",
    "https://.example.com/",
    "https://-a.example.com/",
    "https://a-.example.com/",
    "https://exam%70le.com/",
    "https://exa[mple.com/",
    "https://exa$mple.com/",
    "https://example.com../",
    f"https://{'a' * 64}.example.com/",
    f"https://{'a.' * 126}example/",
    "https://☃.example/",
    "https://xn--a.example/",
    "https://example.com/" + "a" * MAX_LENGTH,
    "https://example.com/" + "я" * 400,
]
FORBIDDEN = [
    ("https://127.0.0.1/", "IP address"),
    ("https://8.8.8.8:8080/", "IP address"),
    ("https://127.1/", "IP address"),
    ("https://2130706433/", "IP address"),
    ("https://0x7f000001/", "IP address"),
    ("https://0x7f.0.0.0x1/", "IP address"),
    ("https://0177.0.0.1/", "IP address"),
    ("https://1.2.3.4./", "IP address"),
    ("https://１２７.0.0.1/", "IP address"),
    ("https://[::1]/", "IP address"),
    ("https://[::ffff:127.0.0.1]:80/", "IP address"),
    ("https://localhost/", "local address"),
    ("https://LOCALHOST:8000/", "local address"),
    ("https://intranet/", "local address"),
    ("https://app.localhost/", "local address"),
    ("https://printer.local/", "local address"),
    ("https://metadata.google.internal/", "local address"),
    ("https://router.home.arpa/", "local address"),
    ("https://10.0.0.1.nip.io/", "local address"),
    ("https://go.kvitok.example/abc", "leads back"),
    ("https://www.go.kvitok.example/", "leads back"),
    ("https://GO.kvitok.example.:8443/", "leads back"),
    ("https://kvitok.example/", "leads back"),
    ("https://bit.ly/abc", "already shortened"),
    ("https://www.tinyurl.com/abc", "already shortened"),
    ("https://Clck.ru/abc", "already shortened"),
    ("https://аpple.com/", "look-alike"),
    ("https://xn--pple-43d.com/", "look-alike"),
    ("https://аррӏе.com/", "look-alike"),
    ("https://pаypal.example/", "look-alike"),
    ("https://casino.example/", "blocked"),
    ("https://www.casino.example/", "blocked"),
]


@pytest.fixture(autouse=True)
def hosts(settings: Settings) -> None:
    settings.SHORT_URL = "https://go.kvitok.example"
    settings.PUBLIC_URL = "https://www.kvitok.example"
    settings.LINK_BLOCKLIST = ["casino.example"]


@pytest.mark.parametrize("url", UNCHANGED)
def test_good_url_is_kept_as_it_is(url: str) -> None:
    assert check_target(url) == url


@pytest.mark.parametrize(("url", "stored"), NORMALISED)
def test_url_is_stored_in_ascii(url: str, stored: str) -> None:
    assert check_target(url) == stored
    assert check_target(stored) == stored


@pytest.mark.parametrize("url", INVALID)
def test_what_is_no_url_is_invalid(url: object) -> None:
    with pytest.raises(DomainError) as refusal:
        check_target(url)

    assert refusal.value.error is Error.INVALID_INPUT
    assert list(refusal.value.errors or ()) == ["url"]


@pytest.mark.parametrize(("url", "reason"), FORBIDDEN)
def test_forbidden_url_is_refused_with_the_reason(url: str, reason: str) -> None:
    with pytest.raises(DomainError) as refusal:
        check_target(url)

    assert refusal.value.error is Error.URL_NOT_ALLOWED
    assert refusal.value.message is not None
    assert reason in refusal.value.message[1]


def test_refusal_names_the_field_of_the_request() -> None:
    with pytest.raises(DomainError) as invalid:
        check_target("nonsense", field="link")
    with pytest.raises(DomainError) as forbidden:
        check_target("https://localhost/", field="link")

    assert list(invalid.value.errors or ()) == ["link"]
    assert list(forbidden.value.errors or ()) == ["link"]


def test_url_of_exactly_the_greatest_length_is_accepted() -> None:
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
def test_accepted_url_reads_the_same_to_everybody(url: str) -> None:
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
