"""What is noted of a visitor: the device, the page they came from, the country; never who it is."""

from pathlib import Path

import pytest
from pytest_django import Settings

from links.clicks import buffer, visitor_headers
from links.clicks.visitor_headers import Device, VisitorKind
from tests.factories import LinkFactory
from tests.links import mmdb
from tests.links.visiting import Ask, entries

IPHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 Safari/604.1"
ADDRESS = "203.0.113.77"
pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.links.visiting")]


ENGINE = "(KHTML, like Gecko)"
IOS = f"Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 {ENGINE}"
ANDROID = f"Mozilla/5.0 (Linux; Android 15; Pixel 9 Build/X; wv) AppleWebKit/537.36 {ENGINE}"
CHROME = "Version/4.0 Chrome/140.0.0.0 Mobile Safari/537.36"

PEOPLE = {
    "Safari": IPHONE,
    "Firefox": "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
    "Opera Mini": "Opera/9.80 (J2ME/MIDP; Opera Mini/9.80; U; ru) Presto/2.5.25 Version/10.54",
    "inside Telegram": f"{ANDROID} {CHROME} Telegram-Android/12.3.1 (X; Android 15; SDK 35; HIGH)",
    "inside WhatsApp": f"{ANDROID} {CHROME} WhatsApp/2.24.12.78",
    "inside WhatsApp, iPhone": f"{IOS} Mobile/15E148 WhatsApp/2.24.15.78",
    "inside Instagram": f"{IOS} Mobile/15E148 Instagram 330.0.0.25.84",
    "inside Facebook": f"{IOS} Mobile/15E148 [FBAN/FBIOS;FBAV/470.0.0.0]",
    "inside any app": f"{IOS} Mobile/15E148",
}
MACHINES = {
    "no client we know": ("SomeClient", VisitorKind.SCANNER),
    "a messenger": ("Signal-Android/7.0", VisitorKind.SCANNER),
    "another messenger": ("Viber/22.5.0", VisitorKind.SCANNER),
    "an app's own calls": ("MyApp/1 CFNetwork/1568.100.1 Darwin/24.0.0", VisitorKind.SCANNER),
    "a phone's own calls": ("Dalvik/2.1.0 (Linux; U; Android 15)", VisitorKind.SCANNER),
    "a browser's name, not first": ("Fetcher Mozilla/5.0 (X11; Linux)", VisitorKind.SCANNER),
    "nothing": ("", VisitorKind.SCANNER),
    "a crawler in a browser's name": (
        f"{ANDROID} {CHROME} (compatible; xbot)",
        VisitorKind.SCANNER,
    ),
    "WhatsApp": ("WhatsApp/2.23.20.0 A", VisitorKind.PREVIEW),
    "who calls itself WhatsApp": ("WhatsApp/2", VisitorKind.PREVIEW),
    "an iPhone's preview": (
        f"{IOS} facebookexternalhit/1.1 Facebot Twitterbot/1.0",
        VisitorKind.PREVIEW,
    ),
}


@pytest.mark.parametrize("agent", PEOPLE.values(), ids=PEOPLE)
def test_people_come_by_a_browser(agent: str) -> None:
    assert (
        visitor_headers.kind_of({"REQUEST_METHOD": "GET", "HTTP_USER_AGENT": agent})
        == VisitorKind.PERSON
    )


@pytest.mark.parametrize(("agent", "kind"), MACHINES.values(), ids=MACHINES)
def test_whatever_is_no_browser_is_no_person(agent: str, kind: VisitorKind) -> None:
    assert visitor_headers.kind_of({"REQUEST_METHOD": "GET", "HTTP_USER_AGENT": agent}) == kind


def test_who_says_nothing_of_themselves_is_no_person() -> None:
    assert visitor_headers.kind_of({"REQUEST_METHOD": "GET"}) == VisitorKind.SCANNER


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
def test_device_is_told_by_its_family(agent: str, device: Device) -> None:
    assert visitor_headers.device_of({"HTTP_USER_AGENT": agent}) == device


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
def test_of_the_page_they_came_from_the_host_alone_is_kept(referrer: str, host: str) -> None:
    assert visitor_headers.referrer_of({"HTTP_REFERER": referrer}) == host


@pytest.mark.parametrize(
    ("said", "country"),
    [("KZ", "KZ"), ("kz", "KZ"), ("XX", ""), ("T1", ""), ("", ""), ("KAZ", ""), ("K1", ""),
     ("ҚЗ", "")],
)  # fmt: skip
def test_country_is_what_the_proxy_says(settings: Settings, said: str, country: str) -> None:
    settings.COUNTRY_HEADER = "HTTP_CF_IPCOUNTRY"

    assert visitor_headers.country_of({"HTTP_CF_IPCOUNTRY": said}) == country


def test_country_of_a_header_that_nobody_vouches_for_is_unknown(settings: Settings) -> None:
    assert settings.COUNTRY_HEADER == ""
    assert visitor_headers.country_of({"HTTP_CF_IPCOUNTRY": "KZ"}) == ""


@pytest.mark.parametrize(
    ("address", "country"),
    [(ADDRESS, "KZ"), ("203.0.113.255", "KZ"), ("198.51.100.1", "UZ"), ("192.0.2.1", ""),
     ("198.51.101.1", ""), ("", ""), ("unix:", "")],
)  # fmt: skip
def test_country_is_found_by_the_address(countries: Path, address: str, country: str) -> None:
    assert visitor_headers.country_of({"REMOTE_ADDR": address}) == country


def test_address_is_the_one_that_our_proxies_vouch_for(countries: Path, settings: Settings) -> None:
    settings.TRUSTED_PROXY_COUNT = 1

    asked = {"REMOTE_ADDR": "10.0.0.1", "HTTP_X_FORWARDED_FOR": f"198.51.100.9, {ADDRESS}"}

    assert visitor_headers.country_of(asked) == "KZ"


def test_header_goes_before_the_database(countries: Path, settings: Settings) -> None:
    settings.COUNTRY_HEADER = "HTTP_CF_IPCOUNTRY"

    assert visitor_headers.country_of({"REMOTE_ADDR": ADDRESS, "HTTP_CF_IPCOUNTRY": "UZ"}) == "UZ"


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
def test_odd_database_costs_the_country_alone(
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
def test_without_a_database_to_read_the_country_is_unknown(
    tmp_path: Path, settings: Settings, content: bytes | None
) -> None:
    path = tmp_path / "broken.mmdb"
    if content is not None:
        path.write_bytes(content)
    settings.COUNTRY_DATABASE = str(path)

    assert visitor_headers.country_of({"REMOTE_ADDR": ADDRESS}) == ""


@pytest.fixture
def countries(tmp_path: Path, settings: Settings) -> Path:
    path = tmp_path / "countries.mmdb"
    path.write_bytes(
        mmdb.database({"203.0.113.0/24": mmdb.country("KZ"), "198.51.100.0/24": mmdb.country("UZ")})
    )
    settings.COUNTRY_DATABASE = str(path)
    return path


def test_nothing_that_names_a_visitor_leaves_the_process(ask: Ask, settings: Settings) -> None:
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
