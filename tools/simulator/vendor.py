"""The interface of a simulated vendor: accept a send, refuse one, format receipts."""

import json
import string
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar
from urllib.parse import urlsplit

from aiohttp import web

from tools.simulator.faults import FaultPlan
from tools.simulator.messages.message import Message

Json = dict[str, Any]
HOST_SIGNS = frozenset(string.ascii_letters + string.digits + ".-:")
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


@dataclass(frozen=True, slots=True)
class Post:
    """One call to a webhook."""

    url: str
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)
    any_2xx: bool = False  # else nothing but 200 counts as taken


Tell = Callable[[], Awaitable[bool]]  # by a way of the vendor's own; says whether it was taken


class Vendor(ABC):
    name: ClassVar[str]
    channel: ClassVar[str]
    can_read: ClassVar[bool] = False  # whether a read receipt exists
    can_reply: ClassVar[bool] = False  # whether people write back to the number

    def events(self, plan: FaultPlan) -> list[str]:
        """The plan's events; `read` is `delivered` where the vendor has no read receipts."""
        planned = plan.events()
        return planned if self.can_read else [word.replace("read", "delivered") for word in planned]

    def receipt(self, message: Message, event: str, moment: float) -> Post | Tell | None:
        """The call that reports an event, or None without a subscription."""
        return None

    def reply(self, message: Message, text: str) -> Post | Tell | None:
        """The call that brings what the person wrote back, or None where nobody can."""
        return None


class HttpVendor(Vendor):
    @abstractmethod
    def routes(self) -> list[web.RouteDef]: ...

    @abstractmethod
    def accepted(self, message: Message) -> web.Response: ...

    @abstractmethod
    def refused(self, kind: str, message: Message) -> web.Response:
        """The vendor's own words for one of `faults.REFUSALS`."""


def json_answer(
    body: object, status: int = 200, headers: Mapping[str, str] | None = None
) -> web.Response:
    return web.Response(
        body=json.dumps(body, ensure_ascii=False).encode(),
        status=status,
        headers=headers,
        content_type="application/json",
    )


def is_callback(url: str, *, plain_http: bool) -> bool:
    """A URL a vendor would call; `plain_http` says whether http does beyond loopback."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return False
    if not host or not set(host) <= HOST_SIGNS or any(sign <= " " for sign in url):
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and (plain_http or host in LOOPBACK))
