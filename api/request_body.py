"""Reads the body of a call: its size, type and JSON."""

from codecs import BOM_UTF8
from typing import Any

import orjson
from django.conf import settings
from django.http import HttpRequest
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from catalogue.errors import DomainError, Error
from catalogue.texts import StrOrPromise
from parsing.integers import parse_integer

COMPRESSED = _("Send the body uncompressed, without Content-Encoding")
NOT_JSON = _("The request body is not valid JSON")
NOT_AN_OBJECT = _("The request body must be a JSON object")


def read_body(
    request: HttpRequest, content_type: str, max_size: int = settings.MAX_API_BODY
) -> bytes:
    """The raw body. Size and type are checked before it is read."""
    length = request.META.get("CONTENT_LENGTH")
    if length and parse_integer(length, maximum=max_size) is None:
        raise DomainError(Error.INVALID_INPUT, message=too_large(max_size))
    body = request.body
    if not body:
        return b""
    sent_type = request.META.get("CONTENT_TYPE", "").partition(";")[0].strip().lower()
    if sent_type != content_type:
        raise DomainError(Error.UNSUPPORTED_MEDIA_TYPE)
    if request.META.get("HTTP_CONTENT_ENCODING", "").strip().lower() not in {"", "identity"}:
        raise DomainError(Error.UNSUPPORTED_MEDIA_TYPE, message=COMPRESSED)
    return body


def json_object(request: HttpRequest, max_size: int = settings.MAX_API_BODY) -> dict[str, Any]:
    body = read_body(request, "application/json", max_size)
    if not body:
        return {}
    try:
        payload = orjson.loads(body.removeprefix(BOM_UTF8))  # RFC 8259 allows ignoring it
    except orjson.JSONDecodeError:
        raise DomainError(Error.INVALID_INPUT, message=NOT_JSON) from None
    if not isinstance(payload, dict):
        raise DomainError(Error.INVALID_INPUT, message=NOT_AN_OBJECT)
    return payload


def too_large(max_size: int) -> StrOrPromise:
    size = max_size // 1024
    return format_lazy(_("The request body is larger than {size} KB"), size=size)
