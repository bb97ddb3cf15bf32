"""ALTCHA's widget for companies' own pages, at addresses that stay: it solves our challenges.

The built files of the npm package `altcha` 3.2.2, as they are; versions 3 solve what version 2 of
the Python library makes. Static files have a hash in their name, which nobody else's page can know.
"""

import gzip
import hashlib
import re
from functools import cache
from typing import NamedTuple

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils.cache import get_conditional_response, patch_vary_headers
from django.views.decorators.http import require_safe

FOLDER = settings.BASE_DIR / "static" / "vendor" / "altcha"
# Any release of the widget goes with any challenge here, so a page may be a day behind.
CACHE_CONTROL = "public, max-age=86400"


# Named, and not with a weight of zero (RFC 9110, section 12.4.2).
_TAKES_GZIP = re.compile(r"\bgzip\b(?!\s*;\s*q\s*=\s*0(\.0*)?\s*(,|$))", re.IGNORECASE)


class _File(NamedTuple):
    body: bytes
    packed: bytes
    etag: str


@require_safe
def script(request: HttpRequest, file: str) -> HttpResponse:
    """One script for all clients; packed, a third of the size, for those that accept it."""
    read = _read(file)
    is_packed = bool(_TAKES_GZIP.search(request.headers.get("Accept-Encoding", "")))
    response = HttpResponse(
        read.packed if is_packed else read.body, content_type="text/javascript; charset=utf-8"
    )
    if is_packed:
        response["Content-Encoding"] = "gzip"
    response["ETag"] = read.etag
    response["Cache-Control"] = CACHE_CONTROL
    response["Access-Control-Allow-Origin"] = "*"  # which a browser asks of modules
    patch_vary_headers(response, ["Accept-Encoding"])
    return get_conditional_response(request, etag=read.etag, response=response) or response


@cache
def _read(file: str) -> _File:
    body = (FOLDER / file).read_bytes()
    # Weak, as it stands for the packed one, too.
    etag = f'W/"{hashlib.sha256(body).hexdigest()[:32]}"'
    return _File(body, gzip.compress(body, mtime=0), etag)
