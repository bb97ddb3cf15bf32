"""Hosts of short links: the service's own, and companies'."""

from collections.abc import Mapping
from functools import cache
from typing import NamedTuple
from urllib.parse import urlsplit

from django.conf import settings
from django.db.backends.utils import CursorWrapper

from storage.process_cache import SnapshotCache
from storage.statements.named_rows import fetch_all


class Host(NamedTuple):
    id: int
    host: str  # lower case, ASCII
    company_id: int


def _read(cursor: CursorWrapper) -> Mapping[str, Host]:
    cursor.execute("SELECT id, host, company_id FROM links_shorthost ORDER BY id")
    return {host.host: host for host in fetch_all(cursor, Host)}


_NONE: Mapping[str, Host] = {}
_hosts = SnapshotCache("hosts", _read, _NONE)
invalidate_cache = _hosts.invalidate
keep_fresh = _hosts.keep_fresh


def find(host: str) -> Host | None:
    """Finds a company's host by its name in lower case, without a port."""
    return _hosts.get().get(host)


def of_company(company_id: int) -> list[Host]:
    return [host for host in _hosts.get().values() if host.company_id == company_id]


def base_url(host_id: int | None) -> str:
    """The short URL without the slash and the slug."""
    if host_id is None:
        return str(settings.SHORT_URL)
    host = _by_id(host_id)
    if host is None:  # added a moment ago: a host with links is never deleted
        invalidate_cache()
        host = _by_id(host_id)
    return f"{scheme()}{host.host}" if host else str(settings.SHORT_URL)


def scheme() -> str:
    """`https://`, or `http://` if SHORT_URL has it."""
    return f"{urlsplit(settings.SHORT_URL).scheme}://"


def key(host_id: int | None, slug: str) -> str:
    """The lookup key of a slug under this host; slugs contain no slash."""
    return slug if host_id is None else f"{host_id}/{slug}"


def keys(slug: str, company_id: int | None = None) -> list[str]:
    """All keys that the slug may have: under our host, and under a company's hosts or all hosts."""
    hosts = _hosts.get().values() if company_id is None else of_company(company_id)
    names = dict.fromkeys((slug, slug.lower()))
    ids = (None, *(host.id for host in hosts))
    return [key(host_id, name) for host_id in ids for name in names]


def is_ours(host: str) -> bool:
    """Whether this is a host of the service or of a company's links, with or without `www.`."""
    plain = host.removeprefix("www.")
    if plain in _hostnames(settings.SHORT_URL, settings.PUBLIC_URL):
        return True
    hosts = _hosts.get()
    return host in hosts or plain in hosts


def is_service_host(name: str) -> bool:
    """Whether this is the host of the service's own short links."""
    return name in {urlsplit(settings.SHORT_URL).hostname, urlsplit(settings.SHORT_URL).netloc}


@cache
def _hostnames(*urls: str) -> frozenset[str]:
    return frozenset((urlsplit(url).hostname or "").removeprefix("www.") for url in urls)


def _by_id(host_id: int) -> Host | None:
    return next((host for host in _hosts.get().values() if host.id == host_id), None)


def dedicated_host() -> str | None:
    """The host that serves only short links, if there is one."""
    short, public = (
        normalise_host(urlsplit(url).netloc) for url in (settings.SHORT_URL, settings.PUBLIC_URL)
    )
    return short if short != public else None


def normalise_host(host: str) -> str:
    return host.lower().removesuffix(":80").removesuffix(":443").removesuffix(".")
