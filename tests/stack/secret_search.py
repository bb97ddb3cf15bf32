"""Collects every place a secret could have leaked to, as bytes to search."""

import re
import socket
import threading
from base64 import b64encode
from pathlib import Path
from typing import Any

import redis
from django.db import connection


def secret_pattern(secret: str) -> re.Pattern[bytes]:
    """A secret as a word of its own, in hexadecimal, or inside anything in base64."""
    word = secret.encode()
    spelled = [rb"\b" + re.escape(word) + rb"\b", word.hex().encode()]
    return re.compile(b"|".join([*spelled, *map(re.escape, _base64(word))]), re.IGNORECASE)


def _base64(word: bytes) -> list[bytes]:
    """Its base64 at each of three alignments, without characters that depend on neighbours."""
    result = []
    for before in range(3):
        encoded = b64encode(b"\0" * before + word).rstrip(b"=")
        first = (before * 8 + 5) // 6
        last = (before + len(word)) * 8 // 6
        result.append(encoded[first:last])
    return result


def postgres_contents() -> bytes:
    """Every row of every table as text, bytea in hexadecimal."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        tables = [name for (name,) in cursor.fetchall()]
        raw = cursor.connection.cursor()
        return b"".join(_copy(raw, table) for table in tables)


def _copy(cursor: Any, table: str) -> bytes:
    whole = f'COPY (SELECT * FROM "{table}") TO STDOUT'  # noqa: S608 - a table's own name
    with cursor.copy(whole) as copy:
        return b"".join(map(bytes, copy))


def redis_values(url: str) -> bytes:
    """Every key with its value, whatever its type."""
    with redis.Redis.from_url(url) as client:
        return b"\n".join(repr((key, _value(client, key))).encode() for key in client.scan_iter())


def _value(client: "redis.Redis", key: bytes) -> object:
    read: dict[bytes, Any] = {
        b"string": lambda: client.get(key),
        b"list": lambda: client.lrange(key, 0, -1),
        b"hash": lambda: client.hgetall(key),
        b"set": lambda: client.smembers(key),
        b"zset": lambda: client.zrange(key, 0, -1),
        b"stream": lambda: client.xrange(key),
    }
    kind: Any = client.type(key)
    return read[kind]() if kind in read else None  # it may have gone in the meantime


class RedisMonitor:
    """Records every command sent to Redis, with Celery's messages and published signals."""

    def __init__(self, path: Path) -> None:
        self.captured = bytearray()
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.connect(str(path))
        self._socket.sendall(b"MONITOR\r\n")
        self._thread = threading.Thread(target=self._listen)
        self._thread.start()

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._socket.close()

    def _listen(self) -> None:
        while chunk := self._socket.recv(65536):
            self.captured += chunk
