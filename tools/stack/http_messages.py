"""Whole HTTP/1.1 messages, as they come over a connection."""

import asyncio
import re

_LENGTH = re.compile(rb"\r\ncontent-length:[ \t]*(\d+)", re.IGNORECASE)
_CHUNKED = re.compile(rb"\r\ntransfer-encoding:[ \t]*chunked", re.IGNORECASE)
_STATUS = re.compile(rb"HTTP/1\.[01] (\d{3})")
_EMPTY = {204, 304}


async def read_message(reader: asyncio.StreamReader) -> bytes:
    """A request or a response; empty when the peer closed the connection first."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return b""
    if _CHUNKED.search(head):
        return head + await _read_chunks(reader)
    if length := _LENGTH.search(head):
        return head + await reader.readexactly(int(length[1]))
    # An answer without a length lasts until the peer closes; a request without one has no body.
    if head.startswith(b"HTTP/") and status(head) not in _EMPTY:
        return head + await reader.read()
    return head


def status(response: bytes) -> int:
    match = _STATUS.match(response)
    return int(match[1]) if match else 0


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while True:
        line = await reader.readuntil(b"\r\n")
        size = int(line.split(b";")[0], 16)
        body += line + await reader.readexactly(size + 2)
        if size == 0:
            return body
