"""Tables as spreadsheets save them: separators, encodings, headers, and what is no table."""

import pytest
from django.core.exceptions import ValidationError

from links.imports import csv_files

URL = "https://example.com/a"


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        (URL, [{"url": URL}]),
        (f"{URL}\n\n{URL}\r\n", [{"url": URL}, {"url": URL}]),
        (f"{URL},sale", [{"url": URL, "alias": "sale"}]),
        (f"{URL};sale;3600", [{"url": URL, "alias": "sale", "expires_in": "3600"}]),
        (f"{URL}\tsale", [{"url": URL, "alias": "sale"}]),
        (f'"{URL}?a=1,2";sale', [{"url": f"{URL}?a=1,2", "alias": "sale"}]),
        (f"URL\n{URL}", [{"url": URL}]),
        (f"alias;Url\nsale;{URL}", [{"url": URL, "alias": "sale"}]),
        (f" url , alias \n {URL} ,\n", [{"url": URL}]),
        (f"url,alias\n{URL}\n,only-a-name", [{"url": URL}, {"alias": "only-a-name"}]),
    ],
)
def test_table_is_read(text: str, rows: list[dict[str, str]]) -> None:
    assert csv_files.read(text.encode()).rows == rows


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1251"])
def test_spreadsheets_encodings(encoding: str) -> None:
    table = csv_files.read(f"url;клиент\n{URL};Анна\n".encode(encoding))

    assert table.rows == [{"url": URL}]
    assert table.ignored == ["клиент"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n \n",
        b"url,alias\n",
        b"PK\x03\x04\x00\x00\x00\x08",
        b"\x00" * 100,
        b"a" * (csv_files.MAX_BYTES + 1),
        b"https://e.example\n" * (csv_files.MAX_ROWS + 1),
        b'"' + b"a" * 200_000,
    ],
    ids=["empty", "blank", "header", "xlsx", "zeros", "large", "long", "one quote"],
)
def test_what_is_no_table_is_refused(content: bytes) -> None:
    with pytest.raises(ValidationError):
        csv_files.read(content)


def test_largest_table_is_read() -> None:
    assert len(csv_files.read(b"https://e.example\n" * csv_files.MAX_ROWS).rows) == 10_000
