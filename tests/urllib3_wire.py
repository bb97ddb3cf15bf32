"""Lets `responses` answer calls of urllib3 as well: it only replaces the adapter of requests."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from typing import Any

import pytest
import requests
from requests.adapters import HTTPAdapter
from requests.structures import CaseInsensitiveDict
from urllib3 import HTTPConnectionPool, HTTPResponse
from urllib3.connection import port_by_scheme
from urllib3.exceptions import HTTPError
from urllib3.util import Url

_REAL_SEND = HTTPAdapter.send
_REAL_URLOPEN = HTTPConnectionPool.urlopen


@contextmanager
def answered_by_responses() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(HTTPConnectionPool, "urlopen", _urlopen)
        yield


def _urlopen(
    pool: HTTPConnectionPool,
    method: str,
    url: str,
    body: Any = None,
    headers: Mapping[str, str] | None = None,
    *more: Any,
    **options: Any,
) -> Any:
    is_of_requests = not options.get("decode_content", True)
    if HTTPAdapter.send is _REAL_SEND or is_of_requests:
        return _REAL_URLOPEN(pool, method, url, body, headers, *more, **options)
    request = requests.PreparedRequest()
    request.method = method
    request.headers = CaseInsensitiveDict(headers)
    request.body = body
    request.url = Url(pool.scheme, host=pool.host, port=_port(pool)).url + url
    try:
        response = HTTPAdapter().send(request)
    except requests.RequestException as error:
        raise HTTPError(str(error)) from error
    return HTTPResponse(
        BytesIO(response.content), response.headers, response.status_code, preload_content=False
    )


def _port(pool: HTTPConnectionPool) -> int | None:
    return None if pool.port == port_by_scheme[pool.scheme] else pool.port
