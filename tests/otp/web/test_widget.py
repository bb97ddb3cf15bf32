"""The widget of proofs of work is the one that was published, and any page may load it."""

import gzip
import hashlib

import pytest
from django.test import Client
from pytest_django import DjangoAssertNumQueries

from otp.web import widget

# From the npm package `altcha` 3.2.2: dist/main and dist/i18n. A new release changes both.
PUBLISHED = {
    "altcha.min.js": "71b2d6829de9893e5d6bfc806d343b2c7dead04b2157ff2a5ba3372938c3a6be",
    "ru.js": "7957c9d56ccca5c72d18ead5098ad1c114015ce63b513a8d6db245023682e738",
}
ADDRESSES = {"/otp/altcha.js": "altcha.min.js", "/otp/altcha.ru.js": "ru.js"}


def test_files_are_as_published_with_their_licence() -> None:
    files = {file.name: file.read_bytes() for file in widget.FOLDER.iterdir()}

    licence = files.pop("LICENSE").decode()
    assert licence.startswith("MIT License\n\nCopyright (c) 2023-2026 Daniel Regeci, BAU Software")
    assert {name: hashlib.sha256(body).hexdigest() for name, body in files.items()} == PUBLISHED


def test_everything_vendored_has_its_licence() -> None:
    folders = [folder for folder in widget.FOLDER.parent.iterdir() if folder.is_dir()]

    assert len(folders) == 4
    assert [folder for folder in folders if not (folder / "LICENSE").is_file()] == []


@pytest.mark.parametrize(("address", "file"), ADDRESSES.items())
def test_widget_is_loaded_from_any_origin_and_cached_for_a_day(
    client: Client,
    db: None,
    address: str,
    file: str,
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    with django_assert_num_queries(0):
        response = client.get(address, headers={"Origin": "https://shop.example"})

    assert response.status_code == 200
    assert response.content == (widget.FOLDER / file).read_bytes()
    headers = dict(response.headers)
    assert headers.pop("ETag").startswith('W/"')
    assert headers == {
        "Content-Type": "text/javascript; charset=utf-8",
        "Cache-Control": "public, max-age=86400",
        "Access-Control-Allow-Origin": "*",
        "Vary": "Accept-Encoding",
    }


def test_widget_is_served_compressed(client: Client) -> None:
    response = client.get("/otp/altcha.js", headers={"Accept-Encoding": "br, gzip"})

    assert response["Content-Encoding"] == "gzip"
    assert len(response.content) < 40_000
    assert gzip.decompress(response.content) == client.get("/otp/altcha.js").content


@pytest.mark.parametrize("encoding", ["identity", "gzip"])
def test_unchanged_widget_is_answered_304(client: Client, encoding: str) -> None:
    etag = client.get("/otp/altcha.js")["ETag"]

    response = client.get(
        "/otp/altcha.js", headers={"If-None-Match": etag, "Accept-Encoding": encoding}
    )

    assert (response.status_code, response.content) == (304, b"")
    assert response["ETag"] == etag
    assert response["Cache-Control"] == widget.CACHE_CONTROL


@pytest.mark.parametrize(
    ("accepted", "is_packed"),
    [("gzip", True), ("gzip;q=0.5, br", True), ("gzip;q=0", False), ("", False)],
)
def test_widget_is_compressed_only_for_clients_that_accept_gzip(
    client: Client, accepted: str, *, is_packed: bool
) -> None:
    response = client.get("/otp/altcha.js", headers={"Accept-Encoding": accepted})

    assert ("Content-Encoding" in response.headers) is is_packed
