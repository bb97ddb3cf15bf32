"""Tables as spreadsheets save them: separators, encodings, headers, and files that are no table."""

import pytest
from django.core.exceptions import ValidationError

from accounts.models import Company
from cabinet.spreadsheets import csv_lines
from links import link_imports
from persons.export_files import FILES
from tests.cabinet.csv_files import csv_rows
from tests.factories import LinkFactory

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
        (f"url\n{URL}?a=1,2;3", [{"url": f"{URL}?a=1,2;3"}]),  # one column, so no separator
        (f"url,alias,,\n{URL},sale,,", [{"url": URL, "alias": "sale"}]),
        (f"sep=;\nurl;alias\n{URL}?a=1,2;sale", [{"url": f"{URL}?a=1,2", "alias": "sale"}]),
        (f'"sep=;"\r\n{URL}?a=1,2;sale', [{"url": f"{URL}?a=1,2", "alias": "sale"}]),
        (f"SEP=\t\nurl\talias\n{URL}\tsale", [{"url": URL, "alias": "sale"}]),
        (f"sep=|\nurl|alias\n{URL}|sale", [{"url": URL, "alias": "sale"}]),
        (f"alias|Long URL\nsale|{URL}?a=1,2;3", [{"url": f"{URL}?a=1,2;3", "alias": "sale"}]),
        (f"url\n{URL}?a=1|2", [{"url": f"{URL}?a=1|2"}]),
        (f'"{URL}?a=1|2"', [{"url": f"{URL}?a=1|2"}]),
        (f"link,long_url,title\nbit.ly/1,{URL},T", [{"url": URL}]),  # Bitly
        (f"createdAt,shortUrl,longUrl,tags\n,https://s.test/a,{URL},a|b", [{"url": URL}]),  # Shlink
        (f"domain,shortCode,longUrl\ns.test,9r2TW,{URL}", [{"url": URL, "alias": "9r2TW"}]),
        (f"Long URL;Custom back-half\n{URL};sale", [{"url": URL, "alias": "sale"}]),
        (
            f"Адрес;Своё имя;Срок\n{URL};sale;60",
            [{"url": URL, "alias": "sale", "expires_in": "60"}],
        ),
        (f"Клиент;Ссылка\nАнна;{URL}", [{"url": URL}]),
        (f"url,long_url\n{URL},https://e.test", [{"url": URL}]),
        (f"url,alias\n{URL},'-sale", [{"url": URL, "alias": "-sale"}]),  # as an export escapes it
        (f"url,alias\n{URL},'00123", [{"url": URL, "alias": "00123"}]),
        (f'url, alias\n{URL}, "sale"', [{"url": URL, "alias": "sale"}]),  # a space before quotes
        (f"url\n{URL}?a=1&amp;b=2", [{"url": f"{URL}?a=1&amp;b=2"}]),
        (f"url\n{URL}?of='-1'&to='+2'", [{"url": f"{URL}?of='-1'&to='+2'"}]),
    ],
)
def test_table_is_read(text: str, rows: list[dict[str, str]]) -> None:
    table = link_imports.read(text.encode())

    assert (table.rows, table.faults) == (rows, {})


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (f"url,title\n{URL}?a=1,2,Title", link_imports.TOO_MANY_CELLS),
        (f"{URL}|sale", link_imports.UNQUOTED_ADDRESS),
        (f"url|alias\n{URL}?a=1|2|sale", link_imports.TOO_MANY_CELLS),
        (f"url,alias\n{URL},sale,more", link_imports.TOO_MANY_CELLS),
        (f"sep=,\nurl\n{URL}?a=1,2", link_imports.TOO_MANY_CELLS),
        (f"{URL},sale,60,more", link_imports.TOO_MANY_CELLS),
        (f"{URL}?a=1,2", link_imports.UNQUOTED_ADDRESS),
        (f"{URL}?a=1&amp;sale", link_imports.UNQUOTED_ADDRESS),  # as HTML writes it
        (f"alias;url;expires_in\nname;{URL}?a=1&#38;60", link_imports.UNQUOTED_ADDRESS),
        (f"{URL}\n{URL}?list=red,green", link_imports.UNQUOTED_ADDRESS),
    ],
)
def test_address_is_never_cut_at_its_comma(text: str, fault: str) -> None:
    table = link_imports.read(text.encode())

    last = len(table.rows) - 1
    assert table.faults == {last: fault}
    assert table.rows[last] == {"url": text.splitlines()[-1]}


def test_quotes_say_where_an_address_ends() -> None:
    table = link_imports.read(f'"{URL}?a=1",sale\n"{URL}?a=1,2"\n'.encode())

    assert table.rows == [{"url": f"{URL}?a=1", "alias": "sale"}, {"url": f"{URL}?a=1,2"}]
    assert table.faults == {}


@pytest.mark.django_db
@pytest.mark.parametrize("language", ["ru", "en"])
def test_exports_of_this_service_are_read(company: Company, language: str) -> None:
    links = LinkFactory.create_batch(2, company=company, url=f"{URL}?a=1,2;3")

    exported = "".join(csv_lines(csv_rows(company, "links", {}), language))

    assert link_imports.read(exported.encode()).rows == [{"url": link.url} for link in links]


@pytest.mark.django_db
def test_file_of_a_company_export_is_read(company: Company) -> None:
    link = LinkFactory.create(company=company, url=URL)
    (file,) = [file for file in FILES if file.name == "links-live.csv"]

    exported = "".join(csv_lines(file.cells([link], with_heading=True), "en"))

    assert link_imports.read(exported.encode()).rows == [{"url": URL}]


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1251"]
)
def test_csv_is_read_in_every_encoding_of_spreadsheets(encoding: str) -> None:
    table = link_imports.read(f"url;клиент\n{URL};Анна\n".encode(encoding))

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
        b"a" * (link_imports.MAX_BYTES + 1),
        b"https://e.example\n" * (link_imports.MAX_ROWS + 1),
        b'"' + b"a" * 200_000,
    ],
    ids=["empty", "blank", "header", "xlsx", "zeros", "large", "long", "one quote"],
)
def test_file_that_is_not_a_table_is_refused(content: bytes) -> None:
    with pytest.raises(ValidationError):
        link_imports.read(content)
