"""Forms of visitors of short links, and the nonce of each form.

A nonce proves that the page of the same link was fetched recently. It needs no cookie, and another
site cannot know it without fetching our page.
"""

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import SuspiciousOperation
from django.core.signing import BadSignature, TimestampSigner
from django.http import QueryDict

from parsing.integers import parse_integer

NONCE_LIFETIME = 3600  # seconds
MAX_FORM_BYTES = 16_384  # bytes

_signer = TimestampSigner(salt="links.nonce")


def issue_nonce(link_id: str) -> str:
    return _signer.sign(link_id).partition(":")[2]


def is_nonce_valid(link_id: str, nonce: str | None) -> bool:
    try:
        _signer.unsign(f"{link_id}:{nonce}", max_age=NONCE_LIFETIME)
    except BadSignature:
        return False
    return True


def posted_form(environ: Mapping[str, Any]) -> QueryDict:
    """The posted form; empty if it is too long, malformed or has no length."""
    content_type = environ.get("CONTENT_TYPE", "").partition(";")[0].strip().lower()
    length = parse_integer(environ.get("CONTENT_LENGTH"), maximum=MAX_FORM_BYTES)
    is_read = content_type == "application/x-www-form-urlencoded" and length is not None
    try:
        return QueryDict(environ["wsgi.input"].read(length) if is_read else b"")
    except (SuspiciousOperation, ValueError):
        return QueryDict()
