"""The messages to phones, kept on disk, and the wire traffic, in memory."""

import asyncio
import fcntl
import json
import os
import re
import sqlite3
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from itertools import count
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import parse_qsl
from weakref import WeakValueDictionary

from aiohttp import web

from tools.simulator.messages import Message, Phone, Phones, iso
from tools.simulator.settings import Settings

if TYPE_CHECKING:
    from tools.simulator.vendor import Handler, Post

SCHEMA = Path(__file__).with_suffix(".sql").read_text(encoding="utf-8")
COLUMNS = tuple(field.name for field in fields(Message))
# Both texts are made only of the constant above.
INSERT = f"INSERT INTO messages ({','.join(COLUMNS)}) VALUES ({','.join('?' * len(COLUMNS))})"  # noqa: S608
SELECT = f"SELECT {','.join(COLUMNS)} FROM messages"  # noqa: S608
SAVE_EVERY = 0.05


class LogInUseError(Exception):
    """Another simulator writes this file."""


class MessageLog:
    def __init__(self, path: Path) -> None:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock = _lock(path.with_name(path.name + ".lock"))
        _make_private(path)
        self._db = sqlite3.connect(path, isolation_level=None)
        self._db.executescript(SCHEMA)
        newest = self._db.execute("SELECT coalesce(max(id), 0) FROM messages").fetchone()
        self._last_id: int = newest[0]
        # A message in progress is one object for all callers.
        self._live: WeakValueDictionary[int, Message] = WeakValueDictionary()
        self._changed: dict[int, Message] = {}
        self.phones = Phones(self._phones())

    def close(self) -> None:
        self.flush()
        self._db.close()
        self._lock.close()

    def next_id(self) -> int:
        self._last_id += 1
        return self._last_id

    def add(self, message: Message) -> None:
        message.id = message.id or self.next_id()
        lists = {"links": json.dumps(message.links), "pending": ",".join(message.pending)}
        values = lists | {"extra": json.dumps(message.extra)}
        row = [values[name] if name in values else getattr(message, name) for name in COLUMNS]
        self._db.execute(INSERT, row)
        self._live[message.id] = message
        self.phones.count(message.phone, message.at)

    def save(self, message: Message) -> None:
        """Keeps what changed, within `SAVE_EVERY`; a kill repeats at most those reports."""
        if not self._changed:
            asyncio.get_running_loop().call_later(SAVE_EVERY, self.flush)
        self._changed[message.id] = message

    def flush(self) -> None:
        changed, self._changed = self._changed, {}
        if not changed:
            return
        self._db.execute("BEGIN")
        self._db.executemany(
            "UPDATE messages SET state = ?, pending = ?, extra = ? WHERE id = ?",
            [
                (message.state, ",".join(message.pending), json.dumps(message.extra), message.id)
                for message in changed.values()
            ],
        )
        self._db.execute("COMMIT")

    def by_id(self, number: int) -> Message | None:
        return next(self._select("WHERE id = ?", number), None)

    def by_provider_id(self, provider: str, provider_id: str) -> Message | None:
        """The latest: some vendors let their clients use an id again."""
        where = "WHERE provider_id = ? AND provider = ? ORDER BY id DESC LIMIT 1"
        return next(self._select(where, provider_id, provider), None)

    def of_phone(self, phone: str, limit: int = -1) -> list[Message]:
        return list(self._select("WHERE phone = ? ORDER BY id DESC LIMIT ?", phone, limit))

    def unfinished(self) -> deque[Message]:
        """Messages of an earlier life whose receipts never got through."""
        return deque(self._select("WHERE pending <> '' ORDER BY id"))

    def keep_contact(self, phone: Phone) -> None:
        self._db.execute(
            "INSERT OR REPLACE INTO contacts VALUES (?,?,?)",
            (phone.digits, phone.shared, phone.blocked),
        )

    def _select(self, where: str, *values: object) -> Iterator[Message]:
        for row in self._db.execute(f"{SELECT} {where}", values):
            number = row[-1]
            live = self._live.get(number)
            if live is None:
                live = self._live[number] = _message(row)
            yield live

    def _phones(self) -> Iterator[Phone]:
        phones: dict[str, Phone] = {}
        for digits, messages, at in self._db.execute(
            "SELECT phone, count(*), max(at) FROM messages GROUP BY phone ORDER BY max(id)"
        ):
            phones[digits] = Phone(digits, messages=messages, last_at=at)
        for digits, shared, blocked in self._db.execute("SELECT * FROM contacts"):
            phone = phones.setdefault(digits, Phone(digits))
            phone.shared, phone.blocked = shared, bool(blocked)
        return iter(phones.values())


def _make_private(path: Path) -> None:
    """Codes and phones are in it; what SQLite puts next to it has the same mode."""
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    for path_of_log in path.parent.glob(f"{path.name}*"):
        path_of_log.chmod(0o600)


def _lock(path: Path) -> IO[str]:
    handle = path.open("w")
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        handle.close()
        raise LogInUseError(str(path)) from None
    return handle


def _message(row: tuple[Any, ...]) -> Message:
    message = Message(*row)
    message.links = json.loads(row[6])
    message.extra = json.loads(row[8])
    message.pending = row[10].split(",") if row[10] else []
    return message


MAX_EXCHANGES = 300
MAX_BODY = 4000  # bytes of a body that are kept
MIN_SECRET_LENGTH = 5  # shorter is no secret to anybody: masked, it would take codes with it
FORM = "application/x-www-form-urlencoded"
MASK = "•••"
SECRET_VARIABLE = re.compile(r".*_(TOKEN|SECRET|PASSWORD)")
SECRET_FIELDS = re.compile(r"^((?:psw|apikey|password|token|secret)=).*$", re.MULTILINE)
BOT_TOKEN = re.compile(r"/bot[^/\s]+/")


@dataclass(slots=True)
class Exchange:
    number: int
    provider: str
    is_receipt: bool
    method: str
    url: str
    phone: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    sent: bytes = b""
    outcome: str = ""  # an HTTP status, or what came in its place; empty: nothing yet
    response: bytes = b""
    at: float = field(default_factory=time.time)
    seconds: float = 0.0


class WireLog:
    """The newest `KEPT` exchanges, in memory only; secrets are masked when they are shown."""

    def __init__(self, settings: Settings) -> None:
        self.providers: list[str] = []  # whose calls are kept
        self._kept: deque[Exchange] = deque(maxlen=MAX_EXCHANGES)
        self._numbers = count(1)
        variables = filter(SECRET_VARIABLE.fullmatch, settings.env)
        secrets = {settings.smpp_password, *map(settings.variable, variables)}
        long = (value for value in secrets if len(value) > MIN_SECRET_LENGTH)
        self._secrets = sorted(long, key=len, reverse=True)

    def recorded(self, provider: str, handler: "Handler") -> "Handler":
        """The handler of a vendor's route, with its calls kept."""

        async def record(request: web.Request) -> web.StreamResponse:
            exchange = self._keep(provider, request.method, request.path_qs)
            request["exchange"] = exchange
            exchange.headers = {"Content-Type": request.headers.get("Content-Type", "")}
            exchange.sent = (await request.read())[:MAX_BODY]
            response = await handler(request)
            body = response.body if isinstance(response, web.Response) else None
            self.end(exchange, str(response.status), body if isinstance(body, bytes) else b"")
            return response

        return record

    def receipt(self, provider: str, phone: str, post: "Post") -> Exchange:
        exchange = self._keep(provider, "POST", post.url, is_receipt=True)
        exchange.phone, exchange.sent = phone, post.body[:MAX_BODY]
        exchange.headers = dict(post.headers)
        return exchange

    def visit(self, provider: str, phone: str, url: str, headers: dict[str, str]) -> Exchange:
        exchange = self._keep(provider, "GET", url, is_receipt=True)
        exchange.phone, exchange.headers = phone, headers
        return exchange

    def end(self, exchange: Exchange, outcome: str, response: bytes = b"") -> None:
        exchange.outcome = exchange.outcome or outcome
        exchange.response = response[:MAX_BODY]
        exchange.seconds = time.time() - exchange.at

    def latest(self, provider: str = "", phone: str = "") -> Iterator[Exchange]:
        """The newest first, of one provider and of phones with these digits, where given."""
        for exchange in reversed(self._kept):
            if provider in {"", exchange.provider} and phone in exchange.phone:
                yield exchange

    def request_text(self, exchange: Exchange) -> str:
        headers = [f"{name}: {value}" for name, value in exchange.headers.items() if value]
        kind = exchange.headers.get("Content-Type", "")
        body = _legible(exchange.sent, kind)
        return self.masked("\n".join([f"{exchange.method} {exchange.url}", *headers, "", body]))

    def response_text(self, exchange: Exchange) -> str:
        return self.masked(_legible(exchange.response, ""))

    def masked(self, text: str) -> str:
        text = BOT_TOKEN.sub(f"/bot{MASK}/", SECRET_FIELDS.sub(rf"\1{MASK}", text))
        for secret in self._secrets:
            text = text.replace(secret, MASK)
        return text.strip()

    def shown(self, exchange: Exchange) -> dict[str, Any]:
        return {
            "at": iso(exchange.at),
            "provider": exchange.provider,
            "phone": exchange.phone,
            "is_receipt": exchange.is_receipt,
            "request": self.request_text(exchange),
            "outcome": exchange.outcome,
            "answer": self.response_text(exchange),
            "ms": round(exchange.seconds * 1000),
        }

    def _keep(self, provider: str, method: str, url: str, *, is_receipt: bool = False) -> Exchange:
        exchange = Exchange(next(self._numbers), provider, is_receipt, method, url)
        self._kept.append(exchange)
        return exchange


def _legible(body: bytes, kind: str) -> str:
    """A form with one field per line; other bodies unchanged."""
    text = body.decode(errors="replace")
    if not kind.startswith(FORM):
        return text
    return "\n".join(f"{name}={value}" for name, value in parse_qsl(text, keep_blank_values=True))
