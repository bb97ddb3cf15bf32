"""ClickHouse's answers, from a small server that words them as it does."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest
from django.core.exceptions import ImproperlyConfigured
from pytest_django import Settings

from storage import clickhouse
from storage.clickhouse import RejectedError, UnavailableError
from tests.clickhouse_fake import Fake, fake_clickhouse

OLD_ERROR = "Code: {code}, e.displayText() = DB::Exception: {text}, e.what() = DB::Exception"
NEW_ERROR = "Code: {code}. DB::Exception: {text} (version 25.8.2.29 (official build))"


@pytest.fixture
def fake(settings: Settings) -> Iterator[Fake]:
    with fake_clickhouse() as result:
        settings.CLICKHOUSE_URL = f"http://kvitok:s%2Fecret@127.0.0.1:{result.port}/stats"
        yield result


def test_insert_sends_lines_to_a_table(fake: Fake) -> None:
    clickhouse.insert("clicks", b'{"a": 1}')

    ((path, authorization, body),) = fake.requests
    query = parse_qs(urlsplit(path).query)
    expected = {"database": ["stats"], "query": ["INSERT INTO clicks FORMAT JSONEachRow"]}
    assert (urlsplit(path).path, query, body) == ("/", expected, b'{"a": 1}')
    assert authorization == "Basic a3ZpdG9rOnMvZWNyZXQ="


def test_read_gives_rows(fake: Fake) -> None:
    fake.response = '{"a": "1"}\n{"a": "2"}\n'

    assert clickhouse.read("SELECT a FROM t") == [{"a": "1"}, {"a": "2"}]

    assert fake.requests[0][2] == b"SELECT a FROM t FORMAT JSONEachRow"


@pytest.mark.parametrize("shape", [OLD_ERROR, NEW_ERROR])
@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (500, 27, RejectedError),
        (400, 26, RejectedError),
        (400, 376, RejectedError),
        (500, 241, RejectedError),
        (404, 60, UnavailableError),
        (401, 193, UnavailableError),
        (403, 516, UnavailableError),
        (500, 252, UnavailableError),
        (500, 242, UnavailableError),
    ],
)
def test_errors_are_distinguished(
    fake: Fake, shape: str, status: int, code: int, kind: type[Exception]
) -> None:
    fake.status = status
    fake.response = shape.format(code=code, text="Something is off")

    with pytest.raises(kind, match=rf"^code {code}: Something is off"):
        clickhouse.execute("SELECT 1")


@pytest.mark.parametrize("status", [302, 400, 502])
def test_proxy_answer_is_not_a_rejection(fake: Fake, status: int) -> None:
    fake.status = status
    fake.response = "<html>a page</html>"

    with pytest.raises(UnavailableError, match=f"^status {status}$"):
        clickhouse.insert("clicks", b"{}")


def test_error_of_an_unavailable_server_hides_the_password(settings: Settings) -> None:
    settings.CLICKHOUSE_URL = "http://kvitok:hidden@127.0.0.1:1/"

    with pytest.raises(UnavailableError) as caught:
        clickhouse.read("SELECT 1")

    assert "hidden" not in f"{caught.value!r} {caught.value.__cause__!r}"


def test_slow_server_is_given_up(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    monkeypatch.setattr(clickhouse, "READ_TIMEOUT", 0.2)
    with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as silent:  # never accepts
        settings.CLICKHOUSE_URL = f"http://127.0.0.1:{silent.server_port}/"

        with pytest.raises(UnavailableError, match="ReadTimeout"):
            clickhouse.read("SELECT 1")


def test_full_address_is_parsed() -> None:
    result = clickhouse.parse_address("https://u%40:p%2Fw@[::1]:9443/stats")

    assert result == clickhouse.Address("https://[::1]:9443/", "u@", "p/w", "stats")
    assert "p/w" not in repr(result)


@pytest.mark.parametrize(
    "url",
    [
        "ch:8123",
        "tcp://u:secret@ch",
        "http://",
        "http://u:secret@ch/a/b",
        "http://ch:x/",
        "http://u:secret@ch/?a=1",
    ],
)
def test_address_that_cannot_be_read(url: str) -> None:
    with pytest.raises(ImproperlyConfigured) as caught:
        clickhouse.parse_address(url)

    assert "secret" not in str(caught.value)
