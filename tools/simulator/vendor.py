"""The interface of a simulated vendor: accept a send, refuse one, format receipts."""

import json
import socket
import string
import struct
from abc import ABC, abstractmethod
from asyncio import BaseTransport
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

from aiohttp import web

from tools.simulator import messages
from tools.simulator.faults import FaultPlan
from tools.simulator.messages import Message
from tools.simulator.request_bodies import MalformedError

if TYPE_CHECKING:
    from tools.simulator.carrier import Carrier

Json = dict[str, Any]
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
HOST_SIGNS = frozenset(string.ascii_letters + string.digits + ".-:")
LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})
ABORT_ON_CLOSE = struct.pack("ii", 1, 0)  # SO_LINGER on, 0 s: the peer gets a RST


@dataclass(frozen=True, slots=True)
class Post:
    """One call to a webhook."""

    url: str
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)
    any_2xx: bool = False  # else nothing but 200 counts as taken
    or_403: bool = False  # refused as forged: another try changes nothing


Tell = Callable[[], Awaitable[bool]]  # by a way of the vendor's own; says whether it was taken


class RefusedError(Exception):
    """A call is refused, in the vendor's own words."""

    def __init__(self, body: Json, status: int = 200) -> None:
        super().__init__(str(body))
        self.body, self.status = body, status


class Vendor(ABC):
    name: ClassVar[str]
    channel: ClassVar[str]
    can_read: ClassVar[bool] = False  # whether a read receipt exists
    can_reply: ClassVar[bool] = False  # whether people write back to the number

    def __init__(self, carrier: "Carrier") -> None:
        self.carrier, self.settings = carrier, carrier.settings

    def message(
        self, provider_id: str, phone: str, text: str, *, buttons: Iterable[str] = (), **more: Any
    ) -> Message:
        """With what is in its text, and `buttons`: the URLs behind them."""
        links = list(dict.fromkeys([*messages.links_in(text), *buttons]))
        known = {"code": messages.code_in(text), "links": links} | more
        return Message(self.channel, self.name, provider_id, phone, text, **known)

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


class HttpService(ABC):
    """What answers calls over HTTP: its handlers may raise."""

    name: ClassVar[str]
    malformed: ClassVar[RefusedError]  # what is said to a body that is not what its type promises

    @abstractmethod
    def routes(self) -> list[web.RouteDef]: ...

    def refusing(self, handler: Handler) -> Handler:
        async def answer(request: web.Request) -> web.StreamResponse:
            try:
                return await handler(request)
            except MalformedError:
                refused = self.malformed
            except RefusedError as error:
                refused = error
            return json_answer(refused.body, refused.status)

        return answer


class HttpVendor(Vendor, HttpService):
    @abstractmethod
    def accepted(self, message: Message) -> web.Response: ...

    @abstractmethod
    def refusal(self, kind: str, message: Message) -> RefusedError:
        """The vendor's own words for one of `faults.REFUSALS`."""


def json_answer(body: object, status: int = 200) -> web.Response:
    text = json.dumps(body, ensure_ascii=False).encode()
    return web.Response(body=text, status=status, content_type="application/json")


def abort(transport: BaseTransport | None, *, reset: bool = True) -> None:
    """The peer gets a reset, or sees the connection closed."""
    if transport is None:
        return
    peer: socket.socket | None = transport.get_extra_info("socket")
    if reset and peer is not None:
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, ABORT_ON_CLOSE)
    transport.abort()  # type: ignore[attr-defined]  # of every transport that can be written to


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
