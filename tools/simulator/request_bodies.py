"""Reads request bodies in any of the vendors' encodings."""

import json
from typing import Any

from aiohttp import web


class MalformedError(Exception):
    """The body is not what its content type promises."""


def json_object(raw: bytes) -> dict[str, Any]:
    try:
        body = json.loads(raw)
        # Escaped halves of surrogate pairs parse well and can be stored nowhere.
        if b"\\ud" in raw.lower():
            json.dumps(body, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise MalformedError from None
    if not isinstance(body, dict):
        raise MalformedError
    return body


async def json_body(request: web.Request) -> dict[str, Any]:
    """A body of our own API; anything but an object is empty."""
    try:
        return json_object(await request.read())
    except MalformedError:
        return {}


def mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def mappings(value: object) -> list[dict[str, Any]]:
    return [mapping(item) for item in value] if isinstance(value, list) else []


async def form(request: web.Request) -> dict[str, str]:
    try:
        sent = await request.post()
    except (ValueError, LookupError):  # bytes or a charset that mean nothing
        raise MalformedError from None
    return {name: value for name, value in sent.items() if isinstance(value, str)}


async def fields(request: web.Request) -> dict[str, Any]:
    """Telegram's way: the query string joined with a form or a JSON body."""
    query: dict[str, Any] = dict(request.query)
    if request.content_type == "application/json":
        raw = await request.read()
        return query | (json_object(raw) if raw.strip() else {})
    return query | await form(request)


def whole(value: object) -> int | None:
    """A whole number, sent as a number or as its digits."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, str) and value.isascii() and value.removeprefix("-").isdigit():
        return int(value) if len(value) <= 20 else None
    return None
