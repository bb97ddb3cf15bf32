"""Links cached in Redis: adjacent releases read each other's entries."""

from links.follow.cached_row import CachedRow, LinkTarget, pack, unpack

TARGET = LinkTarget("0a", 1.5, "https://example.com/", 7, "7/0b", True, "https://example.com/late")
ROW = CachedRow(is_alias=False, target=TARGET, max_ttl=30.0)
STORED = b'[false,"0a",1.5,"https://example.com/",7,"7/0b",true,"https://example.com/late",30.0]'


def test_row_is_stored_as_other_releases_read_it() -> None:
    assert pack(ROW) == STORED
    assert unpack(STORED) == ROW


def test_field_of_a_newer_release_is_ignored() -> None:
    assert unpack(STORED.replace(b",30.0]", b',"added",30.0]')) == ROW


def test_missing_link_is_stored_as_null() -> None:
    assert (pack(None), unpack(b"null")) == (b"null", None)
