"""Examples of UTS 46 and of what browsers do, non-transitional."""

import re
import sys

import pytest

from parsing.hosts import HostError, ascii_host, unicode_host
from tests.packages import PACKAGES, ROOT

HOSTS = [
    ("Example.COM.", "example.com", "example.com"),
    ("faß.de", "xn--fa-hia.de", "faß.de"),
    ("βόλος.com", "xn--nxasmm1c.com", "βόλος.com"),
    ("نامه\u200cای.com", "xn--mgba3gch31f060k.com", "نامه\u200cای.com"),
    ("пример。рф", "xn--e1afmkfd.xn--p1ai", "пример.рф"),
    ("☃.net", "xn--n3h.net", "☃.net"),
    ("i❤\ufe0f.ws", "xn--i-7iq.ws", "i❤.ws"),
    ("\U0001faea.ws", "xn--c39h.ws", "\U0001faea.ws"),
    ("xn--fa-hia.de", "xn--fa-hia.de", "faß.de"),
    ("a\u00adb.com", "ab.com", "ab.com"),
]
NO_HOSTS = [
    "",
    ".",
    "a..b",
    "-a.com",
    "a_.com",
    "a b.com",
    "a%b.com",
    "a/b.com",
    "xn--a.com",
    "xn--.com",
    "xn--fa-Hia\u200d.de",
    f"xn--{'9' * 20}.com",
    "אb.com",
    "a\u200db.com",
    "\u0301a.com",
    "\ud800.com",
    "\ufffe.com",
    f"{'я' * 60}.com",
    f"{'a.' * 127}com",
    "я" * 2000,
    "a" + "\u00ad" * 300 + ".com",  # each would be mapped to nothing
]


@pytest.mark.parametrize(("text", "ascii_form", "unicode_form"), HOSTS)
def test_host_is_converted_between_ascii_and_unicode(
    text: str, ascii_form: str, unicode_form: str
) -> None:
    assert ascii_host(text) == ascii_form
    assert ascii_host(ascii_form) == ascii_form
    assert unicode_host(ascii_form) == unicode_form


@pytest.mark.parametrize("text", NO_HOSTS)
def test_malformed_host_is_refused(text: str) -> None:
    with pytest.raises(HostError):
        ascii_host(text)


def test_undecodable_host_is_shown_unchanged() -> None:
    assert unicode_host("xn--a.com") == "xn--a.com"


def test_product_has_one_idna() -> None:
    """The codec and Django's `punycode` are IDNA 2003."""
    other = re.compile(r"\bimport idna\b|[\"']idna[\"']|punycode\(|idna\.(en|de)code")
    files = [file for name in PACKAGES for file in (ROOT / name).rglob("*.py")]

    result = [str(file) for file in files if other.search(file.read_text())]

    assert result == [str(ROOT / "parsing/hosts.py")]


def test_label_that_is_too_long_is_not_encoded() -> None:
    """Punycode takes the square of its length: a second for a link of 2,000 characters."""
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    label = "".join(map(chr, range(0x4E00, 0x4E00 + 900)))
    sys.setprofile(count)
    try:
        with pytest.raises(HostError):
            ascii_host(f"{label}.com")
    finally:
        sys.setprofile(None)

    assert calls < 1000
