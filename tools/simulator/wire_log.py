"""The latest exchanges: calls to the vendors' APIs, receipts, and the responses."""

import re
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from itertools import count
from typing import Any
from urllib.parse import parse_qsl

from aiohttp import web

from tools.simulator.faults import PROVIDERS
from tools.simulator.messages import iso
from tools.simulator.pages.server_sent_events import Events
from tools.simulator.settings import Settings
from tools.simulator.vendor import Handler, Post

MAX_EXCHANGES = 300
MAX_BODY = 4000  # bytes of a body that are kept
MIN_SECRET_LENGTH = 5  # shorter is no secret to anybody: masked, it would take codes with it
FORM = "application/x-www-form-urlencoded"
MASK = "•••"
SECRET_SETTING = re.compile(r".*_(token|secret|password)")
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
    answer: bytes = b""
    at: float = field(default_factory=time.time)
    seconds: float = 0.0


class WireLog:
    """The newest `KEPT` exchanges, in memory only; secrets are masked when they are shown."""

    def __init__(self, settings: Settings, events: Events) -> None:
        self._events = events
        self.providers = list(PROVIDERS)  # whose calls are kept
        self._kept: deque[Exchange] = deque(maxlen=MAX_EXCHANGES)
        self._numbers = count(1)
        secrets = {
            value
            for name, value in asdict(settings).items()
            if SECRET_SETTING.fullmatch(name) and len(value) > MIN_SECRET_LENGTH
        }
        self._secrets = sorted(secrets, key=len, reverse=True)

    def recorded(self, provider: str, handler: Handler) -> Handler:
        """The handler of a vendor's route, with its calls kept."""
        if provider not in self.providers:
            self.providers.append(provider)

        async def record(request: web.Request) -> web.StreamResponse:
            exchange = self._keep(provider, request.method, request.path_qs)
            request["exchange"] = exchange
            exchange.headers = {"Content-Type": request.headers.get("Content-Type", "")}
            exchange.sent = (await request.read())[:MAX_BODY]
            answer = await handler(request)
            body = answer.body if isinstance(answer, web.Response) else None
            self.end(exchange, str(answer.status), body if isinstance(body, bytes) else b"")
            return answer

        return record

    def receipt(self, provider: str, phone: str, post: Post) -> Exchange:
        exchange = self._keep(provider, "POST", post.url, is_receipt=True)
        exchange.phone, exchange.sent = phone, post.body[:MAX_BODY]
        exchange.headers = dict(post.headers)
        return exchange

    def visit(self, provider: str, phone: str, url: str, headers: dict[str, str]) -> Exchange:
        exchange = self._keep(provider, "GET", url, is_receipt=True)
        exchange.phone, exchange.headers = phone, headers
        return exchange

    def end(self, exchange: Exchange, outcome: str, answer: bytes = b"") -> None:
        exchange.outcome = exchange.outcome or outcome
        exchange.answer = answer[:MAX_BODY]
        exchange.seconds = time.time() - exchange.at
        self._events.changed()

    def latest(self, provider: str = "", phone: str = "") -> Iterator[Exchange]:
        """The newest first, of one provider and of phones with these digits, where given."""
        for one in reversed(self._kept):
            if provider in {"", one.provider} and phone in one.phone:
                yield one

    def request_text(self, exchange: Exchange) -> str:
        headers = [f"{name}: {value}" for name, value in exchange.headers.items() if value]
        kind = exchange.headers.get("Content-Type", "")
        body = _legible(exchange.sent, kind)
        return self.masked("\n".join([f"{exchange.method} {exchange.url}", *headers, "", body]))

    def answer_text(self, exchange: Exchange) -> str:
        return self.masked(_legible(exchange.answer, ""))

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
            "answer": self.answer_text(exchange),
            "ms": round(exchange.seconds * 1000),
        }

    def _keep(self, provider: str, method: str, url: str, *, is_receipt: bool = False) -> Exchange:
        exchange = Exchange(next(self._numbers), provider, is_receipt, method, url)
        self._kept.append(exchange)
        return exchange


def _legible(body: bytes, kind: str) -> str:
    """A form as its fields, one a line; anything else as it is."""
    text = body.decode(errors="replace")
    if not kind.startswith(FORM):
        return text
    return "\n".join(f"{name}={value}" for name, value in parse_qsl(text, keep_blank_values=True))
