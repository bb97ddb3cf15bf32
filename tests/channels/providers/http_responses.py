"""Responses of a vendor, as bytes."""

from tests.channels.providers.vendors import payload

ACCEPTED = payload("telegram_bot", "accepted_2026-09.json")


def http_response(body: bytes, *extra: str, length: int | None = None) -> bytes:
    size = len(body) if length is None else length
    head = ["HTTP/1.1 200 OK", "Content-Type: application/json", f"Content-Length: {size}", *extra]
    return "\r\n".join([*head, "", ""]).encode() + body
