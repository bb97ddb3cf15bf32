"""ALTCHA's widget for companies' own pages, at stable addresses: it solves our challenges.

Serves the built files of the npm package `altcha` 3.2.2 unchanged; versions 3 solve the challenges
of version 2 of the Python library. Static files have a hash in their name, which the pages of other
sites cannot know.
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
# Any release of the widget solves all our challenges, so a page may be a day behind.
CACHE_CONTROL = "public, max-age=86400"


# The encoding must be listed, and not with a weight of zero (RFC 9110, section 12.4.2).
_TAKES_GZIP = re.compile(r"\bgzip\b(?!\s*;\s*q\s*=\s*0(\.0*)?\s*(,|$))", re.IGNORECASE)


class _File(NamedTuple):
    body: bytes
    packed: bytes
    etag: str


@require_safe
def script(request: HttpRequest, file: str) -> HttpResponse:
    """One script for all clients, compressed to a third of its size for clients that accept it."""
    read = _read(file)
    is_packed = bool(_TAKES_GZIP.search(request.headers.get("Accept-Encoding", "")))
    response = HttpResponse(
        read.packed if is_packed else read.body, content_type="text/javascript; charset=utf-8"
    )
    if is_packed:
        response["Content-Encoding"] = "gzip"
    response["ETag"] = read.etag
    response["Cache-Control"] = CACHE_CONTROL
    response["Access-Control-Allow-Origin"] = "*"  # browsers require it of modules
    patch_vary_headers(response, ["Accept-Encoding"])
    return get_conditional_response(request, etag=read.etag, response=response) or response


@cache
def _read(file: str) -> _File:
    body = (FOLDER / file).read_bytes()
    # A weak tag, because the compressed form has the same one.
    etag = f'W/"{hashlib.sha256(body).hexdigest()[:32]}"'
    return _File(body, gzip.compress(body, mtime=0), etag)
