"""The base of every vendor: the sending of receipts, refusals, routes and their faults."""

import asyncio
import inspect
import json
import pkgutil
import socket
import string
import struct
import time
from abc import ABC, abstractmethod
from asyncio import BaseTransport
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar
from urllib.parse import urlsplit

import aiohttp
from aiohttp import web
from yarl import URL

from tools import simulator
from tools.simulator import messages
from tools.simulator.channels import CHANNELS, Channel
from tools.simulator.faults import FaultPlan
from tools.simulator.logs import MessageLog, WireLog
from tools.simulator.messages import DUPLICATE, SILENT, Message
from tools.simulator.request_bodies import MalformedError

if TYPE_CHECKING:
    from tools.simulator.carrier import Carrier

Json = dict[str, Any]
Kind = TypeVar("Kind")
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


Deliver = Callable[[], Awaitable[bool]]  # sends in the vendor's own way; False: not accepted


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

    def __init_subclass__(cls) -> None:
        if channel := vars(cls).get("channel"):  # one without an entry has no previewer
            CHANNELS.setdefault(channel, Channel(channel.upper()))

    def __init__(self, carrier: "Carrier") -> None:
        self.carrier, self.settings = carrier, carrier.settings

    def message(
        self,
        provider_id: str,
        phone: str,
        text: str,
        *,
        buttons: Iterable[str] = (),
        **options: Any,
    ) -> Message:
        """A message with the code and links of its text; `buttons`: the URLs behind them."""
        links = list(dict.fromkeys([*messages.links_in(text), *buttons]))
        fields = {"code": messages.code_in(text), "links": links} | options
        return Message(self.channel, self.name, provider_id, phone, text, **fields)

    def events(self, plan: FaultPlan) -> list[str]:
        """The plan's events; `read` is `delivered` where the vendor has no read receipts."""
        planned = plan.events()
        return planned if self.can_read else [word.replace("read", "delivered") for word in planned]

    def receipt(self, message: Message, event: str, moment: float) -> Post | Deliver | None:
        """The call that reports an event, or None without a subscription."""
        return None

    def reply(self, message: Message, text: str) -> Post | Deliver | None:
        """The call that reports a person's reply; None for vendors without replies."""
        return None


def _below(kind: type[Kind]) -> Iterator[type[Kind]]:
    for child in kind.__subclasses__():
        yield child
        yield from _below(child)


class HttpService(ABC):
    """A server of calls over HTTP: its handlers may raise."""

    name: ClassVar[str]
    malformed: ClassVar[RefusedError]  # what is said to a body that is not what its type promises

    @classmethod
    def kinds(cls) -> list[type[Self]]:
        """The concrete classes below this one; a module anywhere in the simulator is enough."""
        for module in pkgutil.walk_packages(simulator.__path__, f"{simulator.__name__}."):
            if not module.name.endswith(".__main__"):
                import_module(module.name)
        return sorted(
            (kind for kind in _below(cls) if not inspect.isabstract(kind)),
            key=lambda kind: kind.name,
        )

    @abstractmethod
    def routes(self) -> list[web.RouteDef]: ...

    def refusing(self, handler: Handler) -> Handler:
        async def respond(request: web.Request) -> web.StreamResponse:
            try:
                return await handler(request)
            except MalformedError:
                refused = self.malformed
            except RefusedError as error:
                refused = error
            return json_response(refused.body, refused.status)

        return respond


class HttpVendor(Vendor, HttpService):
    @abstractmethod
    def accepted(self, message: Message) -> web.Response: ...

    @abstractmethod
    def refusal(self, kind: str, message: Message) -> RefusedError:
        """The vendor's own words for one of `faults.REFUSALS`."""

    def _check_account(self, request: web.Request) -> None:
        """Raises RefusedError for a caller without the account's credentials."""

    def _read(self, describe: Callable[[web.Request], Json]) -> Handler:
        async def read(request: web.Request) -> web.Response:
            self._check_account(request)
            return json_response(describe(request))

        return read


def json_response(body: object, status: int = 200) -> web.Response:
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


GAPS = (0.2, 0.5, 1, 2, 4, 7, *[10] * 30)  # about five minutes
TIMEOUT = aiohttp.ClientTimeout(sock_connect=2, sock_read=10)
AT_ONCE = 64
MakePost = Callable[[], Post | Deliver | None]


class ReceiptSender:
    def __init__(self, log: MessageLog, vendors: Mapping[str, Vendor], wire: WireLog) -> None:
        self._log, self._vendors, self._wire = log, vendors, wire
        self._jobs: dict[int, asyncio.Task[None]] = {}
        self._single_calls: set[asyncio.Task[None]] = set()

    async def running(self, _app: web.Application) -> AsyncIterator[None]:
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=AT_ONCE),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=TIMEOUT,
        )
        now = time.time()
        for message in self._log.unfinished():
            self.start(message, max(0.0, message.extra.get("due", 0) - now))
        yield
        tasks = [*self._jobs.values(), *self._single_calls]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._session.close()

    def start(self, message: Message, delay: float) -> None:
        """Work off the pending receipts of a message, from now on only by this job."""
        if not message.pending:
            return
        if earlier := self._jobs.get(message.id):
            earlier.cancel()
        self._jobs[message.id] = asyncio.create_task(self._work_off(message, delay))

    def add(self, message: Message, event: str) -> None:
        """One more receipt, after those that are under way."""
        message.reach(event)
        message.pending.append(event)
        self._log.save(message)
        if message.id not in self._jobs:
            self.start(message, 0)

    def run(
        self, posts: Iterable[MakePost], provider: str, phone: str = "", delay: float = 0.0
    ) -> asyncio.Task[None]:
        """Calls that belong to no message, one after the other."""
        task = asyncio.create_task(self._run(list(posts), provider, phone, delay))
        self._single_calls.add(task)
        task.add_done_callback(self._single_calls.discard)
        return task

    async def _run(self, posts: list[MakePost], provider: str, phone: str, delay: float) -> None:
        await asyncio.sleep(delay)
        for make in posts:
            await self._push(make, provider, phone)

    async def _work_off(self, message: Message, delay: float) -> None:
        try:
            await asyncio.sleep(delay)
            while message.pending:
                if not await self._report(message, message.pending[0]):
                    return  # still pending: the next start of the simulator tries again
                message.pending.pop(0)
            self._log.save(message)
        finally:
            if self._jobs.get(message.id) is asyncio.current_task():
                del self._jobs[message.id]

    async def _report(self, message: Message, marked: str) -> bool:
        event = marked.lstrip(DUPLICATE + SILENT)
        if message.reach(event):
            self._log.save(message)
        if marked.startswith(SILENT):
            return True
        moment = time.time() + (1 if marked.startswith(DUPLICATE) else 0)
        vendor = self._vendors[message.provider]
        make = partial(vendor.receipt, message, event, moment)
        return await self._push(make, vendor.name, message.phone)

    async def _push(self, make: MakePost, provider: str, phone: str) -> bool:
        for gap in GAPS:
            # Made again each time: a signature may hold its own time.
            post = make()
            if post is None:
                return True
            if isinstance(post, Post):
                is_taken = await self._is_taken(post, provider, phone)
            else:
                is_taken = await post()
            if is_taken:
                return True
            await asyncio.sleep(gap)
        return False

    async def _is_taken(self, post: Post, provider: str, phone: str) -> bool:
        exchange, url = self._wire.receipt(provider, phone, post), URL(post.url, encoded=True)
        try:
            async with self._session.post(
                url, data=post.body, headers=post.headers, allow_redirects=False
            ) as response:
                status = response.status
                self._wire.end(exchange, str(status), await response.read())
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            self._wire.end(exchange, type(error).__name__)
            return False
        is_final = post.or_403 and status == web.HTTPForbidden.status_code
        return is_final or status == web.HTTPOk.status_code or (post.any_2xx and status // 100 == 2)
