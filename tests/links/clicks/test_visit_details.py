"""Device, referrer and country of a visit."""

from pathlib import Path

import pytest
from pytest_django import Settings

from links.clicks import buffer, visit_details
from links.clicks.visit_details import MAX_ENTRIES, Device, cached
from tests.factories import LinkFactory
from tests.links import mmdb
from tests.links.visiting import Ask, entries

IPHONE = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15"
    " (KHTML, like Gecko) Version/18.0 Mobile/15E148 Safari/604.1"
)
ADDRESS = "203.0.113.77"
pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.links.visiting")]


@pytest.mark.parametrize(
    ("agent", "device"),
    [
        (IPHONE, Device.IOS),
        ("Mozilla/5.0 (Linux; Android 15) Chrome/140.0 Mobile", Device.ANDROID),
        ("Mozilla/5.0 (Windows NT 10.0; Win64; x64) Chrome/140.0", Device.WINDOWS),
        ("Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Safari/605.1.15", Device.MACOS),
        ("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Firefox/140.0", Device.LINUX),
        ("something else", Device.OTHER),
        ("", Device.OTHER),
    ],
)
def test_device_is_the_family_in_the_user_agent(agent: str, device: Device) -> None:
    assert visit_details.device_of({"HTTP_USER_AGENT": agent}) == device


@pytest.mark.parametrize(
    ("referrer", "host"),
    [
        ("https://News.Example/a/b?user=me#x", "news.example"),
        ("android-app://org.telegram.messenger/", "org.telegram.messenger"),
        ("https://user:password@mail.example:8443/inbox", "mail.example"),
        ("https://[::1", ""),
        ("https://почта.example/", ""),
        ("about:blank", ""),
        ("", ""),
    ],
)
def test_referrer_keeps_only_the_host(referrer: str, host: str) -> None:
    assert visit_details.referrer_of({"HTTP_REFERER": referrer}) == host


@pytest.mark.parametrize(
    ("header", "country"),
    [("KZ", "KZ"), ("kz", "KZ"), ("XX", ""), ("", ""), ("K1", ""), ("ҚЗ", "")],
)
def test_country_comes_from_the_proxy_header(settings: Settings, header: str, country: str) -> None:
    settings.COUNTRY_HEADER = "HTTP_CF_IPCOUNTRY"

    assert visit_details.country_of({"HTTP_CF_IPCOUNTRY": header}) == country


def test_country_header_is_ignored_unless_configured(settings: Settings) -> None:
    assert settings.COUNTRY_HEADER == ""
    assert visit_details.country_of({"HTTP_CF_IPCOUNTRY": "KZ"}) == ""


@pytest.mark.parametrize(
    ("address", "country"),
    [
        (ADDRESS, "KZ"),
        ("203.0.113.255", "KZ"),
        ("198.51.100.1", "UZ"),
        ("192.0.2.1", ""),
        ("198.51.101.1", ""),
        ("", ""),
        ("unix:", ""),
    ],
)
def test_country_comes_from_the_address_database(
    countries: Path, address: str, country: str
) -> None:
    assert visit_details.country_of({"REMOTE_ADDR": address}) == country


def test_country_uses_the_address_from_trusted_proxies(countries: Path, settings: Settings) -> None:
    settings.TRUSTED_PROXY_COUNT = 1

    asked = {"REMOTE_ADDR": "10.0.0.1", "HTTP_X_FORWARDED_FOR": f"198.51.100.9, {ADDRESS}"}

    assert visit_details.country_of(asked) == "KZ"


def test_country_header_takes_precedence_over_the_database(
    countries: Path, settings: Settings
) -> None:
    settings.COUNTRY_HEADER = "HTTP_CF_IPCOUNTRY"

    assert visit_details.country_of({"REMOTE_ADDR": ADDRESS, "HTTP_CF_IPCOUNTRY": "UZ"}) == "UZ"


NETWORK = "203.0.113.0/24"
USUAL = mmdb.database({NETWORK: mmdb.country("KZ")})
ODD = {
    "country is a name": mmdb.database({NETWORK: mmdb.mapping({"country": mmdb.text("KZ")})}),
    "code is a map": mmdb.database(
        {NETWORK: mmdb.mapping({"country": mmdb.mapping({"iso_code": mmdb.mapping({})})})}
    ),
    "record is a text": mmdb.database({NETWORK: mmdb.text("KZ")}),
    "record is nothing": mmdb.database({NETWORK: mmdb.mapping({})}),
    "no such data": USUAL.replace(mmdb.country("KZ"), b"\xff" * len(mmdb.country("KZ"))),
    "no such tree": b"\xfe" * 6 + USUAL[6:],
    "no metadata": USUAL.partition(mmdb.MARKER)[0] + mmdb.MARKER + mmdb.mapping({}),
    "metadata is a text": USUAL.partition(mmdb.MARKER)[0] + mmdb.MARKER + mmdb.text("KZ"),
}


@pytest.mark.parametrize("content", ODD.values(), ids=list(ODD))
def test_malformed_country_database_does_not_fail_the_redirect(
    ask: Ask, tmp_path: Path, settings: Settings, content: bytes
) -> None:
    path = tmp_path / "odd.mmdb"
    path.write_bytes(content)
    settings.COUNTRY_DATABASE = str(path)

    status, _, _ = ask(f"/{LinkFactory.create().slug}", REMOTE_ADDR=ADDRESS)

    buffer._buffer.flush()
    ((_id, fields),) = entries()
    assert status == 302
    assert fields[b"batch"].endswith(b',"android",""]]')


@pytest.mark.parametrize("content", [None, b"", b"no database"])
def test_country_is_unknown_without_a_readable_database(
    tmp_path: Path, settings: Settings, content: bytes | None
) -> None:
    path = tmp_path / "broken.mmdb"
    if content is not None:
        path.write_bytes(content)
    settings.COUNTRY_DATABASE = str(path)

    assert visit_details.country_of({"REMOTE_ADDR": ADDRESS}) == ""


@pytest.fixture
def countries(tmp_path: Path, settings: Settings) -> Path:
    path = tmp_path / "countries.mmdb"
    path.write_bytes(
        mmdb.database({"203.0.113.0/24": mmdb.country("KZ"), "198.51.100.0/24": mmdb.country("UZ")})
    )
    settings.COUNTRY_DATABASE = str(path)
    return path


def test_stream_entry_holds_no_personal_data(ask: Ask, settings: Settings) -> None:
    settings.COUNTRY_HEADER = "HTTP_CF_IPCOUNTRY"
    link = LinkFactory.create()

    ask(
        f"/{link.slug}",
        REMOTE_ADDR=ADDRESS,
        HTTP_X_FORWARDED_FOR=ADDRESS,
        HTTP_USER_AGENT=IPHONE,
        HTTP_REFERER="https://news.example/?user=me",
        HTTP_COOKIE="sessionid=secret",
        HTTP_CF_IPCOUNTRY="UZ",
    )

    buffer._buffer.flush()
    ((_id, fields),) = entries()
    batch = fields[b"batch"].decode()
    assert batch.startswith(f'[["{link.id.hex}","person",')
    assert batch.endswith(',"news.example","ios","UZ"]]')
    assert not [word for word in (ADDRESS, "iPhone", "user=me", "secret") if word in batch]


def test_full_cache_is_cleared() -> None:
    cache = {str(number): number for number in range(MAX_ENTRIES)}

    assert cached(cache, "header", len) == 6
    assert cache == {"header": 6}
