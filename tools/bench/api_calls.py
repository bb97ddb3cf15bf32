"""The API calls and redirects measured as a closed loop, most of them beside a floor."""

import base64
import time
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar
from urllib.parse import urlencode

import orjson

from accounts.models import Mode
from compat.twilio.dialect import service_sid
from links.clicks.buffer import STREAM
from links.make.bulk import MAX_LINKS
from tools.bench.floors import hello
from tools.bench.load import Load, RequestSource, as_json, head, post
from tools.bench.runner import Call
from tools.queries import queries
from tools.stack import seed
from tools.stack.stack import Account, Setup, until

BROWSER = {
    "User_Agent": "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko)"
    " Chrome/141.0.0.0 Mobile Safari/537.36",
    "Accept": "text/html",
    "Accept_Language": "ru",
    "Sec_Fetch_Mode": "navigate",
}
SLUGS = 16
DRAINED = 120.0  # seconds
_SQL = queries(__file__)


def beyond(answered: int, expected: int) -> int:
    """Answers without an effect. Effects without an answer are calls cut off at the end."""
    return max(0, answered - expected)


class ApiCall(Call):
    path: ClassVar[str]

    def source(
        self,
        side: str,
        senders: Sequence[Account],
        lines: list[tuple[int, str]],
        checked: Mapping[str, Any],
    ) -> RequestSource:
        """The source of requests to the API or the floor's view; `lines` number the senders."""
        path = f"/{self.path.partition('/')[2]}" if side == "floor" else f"/api/v1/{self.path}"
        heads = [post(path, self.port(side), sender.key) for sender in senders]
        return RequestSource(heads, lines, mark=dict(checked))

    def counted(self, query: str, *parameters: object) -> tuple[int, ...]:
        row = self.stack.store.execute(query.encode(), parameters).fetchone()
        return tuple(map(int, row or ()))

    def counted_of(self, query: str, feed: RequestSource) -> tuple[int, ...]:
        """Counts between the feed's first and last phone; no other feed has phones in between."""
        return self.counted(query, feed.mark["phones"][0], feed.mark["phones"][-1])

    def links(self) -> int:
        return self.counted("SELECT count(*) FROM links_link")[0]


class Verify(ApiCall):
    """One guess at each code, right and wrong in turn; a wrong one is checked and refused."""

    name = "verify"
    title = "POST /otp/verify"
    path = "otp/verify"
    least = 0.55
    aim = 0.8

    def feed(self, side: str, count: int) -> RequestSource:
        accounts, phones = self.bench.accounts, self.bench.phones.take(count)
        lines = []
        for guess in seed.verifications(self.stack.store, accounts, phones):
            company, mac = accounts[guess.account].company_id, guess.mac.hex()
            floor = {"company_id": company, "phone": guess.phone, "mac": mac}
            ours = {"phone": guess.phone, "code": guess.code}
            lines.append((guess.account, as_json(**(floor if side == "floor" else ours))))
        return self.source(side, accounts, lines, {"phones": phones})

    def wrong(self, feed: RequestSource, load: Load) -> int:
        right, checked = self.counted_of(_SQL["checked"].text, feed)
        return beyond(load.accepted, right) + beyond(load.refused, checked - right)


class Send(ApiCall):
    """Accepts messages and wakes workers; no call waits, nothing is delivered."""

    name = "send"
    title = "POST /otp/send, no wait"
    path = "otp/send"
    least: ClassVar[float | None] = 0.5
    aim: ClassVar[float | None] = 0.75

    def senders(self, side: str) -> Sequence[Account]:
        return self.bench.accounts

    def feed(self, side: str, count: int) -> RequestSource:
        phones, senders = self.bench.phones.take(count), self.senders(side)
        lines = []
        for number, phone in enumerate(phones):
            account = senders[number % len(senders)]
            floor = {"company_id": account.company_id, "key_id": account.key_id, "phone": phone}
            ours = {"phone": phone, "channel": "whatsapp"}
            body = as_json(**(floor if side == "floor" else ours))
            lines.append((number % len(senders), body))
        return self.source(side, senders, lines, {"phones": phones})

    def wrong(self, feed: RequestSource, load: Load) -> int:
        """Counts refusals, and answers without a message and its hold."""
        messages, holds = self.counted_of(_SQL["accepted"].text, feed)
        return load.refused + beyond(load.accepted, min(messages, holds))

    def open_messages(self) -> int:
        return self.counted(_SQL["open"].text)[0]


class Hot(Send):
    """All sends from one wallet, compared with sends from a hundred."""

    name = "hot"
    title = "POST /otp/send, one company beside a hundred"
    sides = ("hundred", "one")
    least = None
    aim = None

    def senders(self, side: str) -> Sequence[Account]:
        return self.bench.accounts if side == "hundred" else self.bench.accounts[:1]

    def connections(self, requested: Sequence[int]) -> Sequence[int]:
        return [16]


class Compat(Send):
    """A send by Twilio's call, compared with one by our own."""

    name = "compat"
    title = "a code by the dialect of Twilio, beside POST /otp/send"
    sides = ("own", "twilio")
    least = 0.9
    aim = 1.0

    def feed(self, side: str, count: int) -> RequestSource:
        if side == "own":
            return super().feed(side, count)
        phones, senders = self.bench.phones.take(count), self.senders(side)
        heads = [self._head(account, side) for account in senders]
        lines = [
            (number % len(senders), urlencode({"To": phone, "Channel": "whatsapp"}))
            for number, phone in enumerate(phones)
        ]
        return RequestSource(heads, lines, mark={"phones": phones})

    def _head(self, account: Account, side: str) -> str:
        service = service_sid(account.company_id, Mode.LIVE, seed.PURPOSE)
        pair = base64.b64encode(f"AC{'0' * 32}:{account.client_key}".encode()).decode()
        return head(
            "POST",
            f"/compat/twilio/v2/Services/{service}/Verifications",
            self.port(side),
            Authorization=f"Basic {pair}",
            Content_Type="application/x-www-form-urlencoded",
        )


class Wait(Send):
    """Each send waits until the simulator accepts it; receipts arrive in the meantime."""

    name = "wait"
    title = "POST /otp/send, waiting for its outcome"
    sides: ClassVar[tuple[str, ...]] = ("ours",)
    least = None
    aim = None
    wanted = Setup("bench_delivery", delivery=True)

    def wrong(self, feed: RequestSource, load: Load) -> int:
        until(lambda: not self.open_messages(), seconds=60, event="the delivery of all messages")
        (delivered,) = self.counted_of(_SQL["delivered"].text, feed)
        return super().wrong(feed, load) + beyond(load.accepted, delivered)


class Shorten(ApiCall):
    name = "shorten"
    title = "POST /links/shorten"
    path = "links/shorten"
    least = 0.5
    aim = 0.75

    def feed(self, side: str, count: int) -> RequestSource:
        accounts, lines = self.bench.accounts, []
        for number in range(count):
            index = number % len(accounts)
            owner = {"company_id": accounts[index].company_id} if side == "floor" else {}
            lines.append((index, as_json(**owner, url=f"{hello.URL}&n={number}")))
        return self.source(side, accounts, lines, {"before": self.links()})

    def wrong(self, feed: RequestSource, load: Load) -> int:
        return load.refused + beyond(load.accepted, self.links() - feed.mark["before"])


class Bulk(ApiCall):
    """Creates a thousand links per request."""

    name = "bulk"
    title = f"POST /links/bulk, {MAX_LINKS} links a request"
    path = "links/bulk"
    least = 0.2
    aim = 0.4
    guess: ClassVar[float] = 10.0

    def connections(self, requested: Sequence[int]) -> Sequence[int]:
        return [1]

    def feed(self, side: str, count: int) -> RequestSource:
        account = self.bench.accounts[0]
        owner = {"company_id": account.company_id} if side == "floor" else {}
        links = [{"url": f"{hello.URL}&n={number}"} for number in range(MAX_LINKS)]
        lines = [(0, as_json(**owner, links=links))] * count
        return self.source(side, [account], lines, {"before": self.links()})

    def wrong(self, feed: RequestSource, load: Load) -> int:
        created = self.links() - feed.mark["before"]
        feed.notes["links per s"] = round(load.accepted * MAX_LINKS / load.seconds)
        return load.refused + beyond(load.accepted, created // MAX_LINKS)


class Redirect(ApiCall):
    """Links that many people follow: cached in the process, each click added to the stream."""

    name = "redirect"
    title = "GET /<slug>, cached, clicks handed over"
    least: ClassVar[float | None] = 0.6
    aim: ClassVar[float | None] = 0.9
    wanted = Setup("bench_calls", waiters=0, floor=True, hello=True)

    def prepare(self) -> None:
        self.slugs = seed.links(self.stack.store, self.bench.accounts[0], SLUGS, url=hello.URL)

    def port(self, side: str) -> int:
        return self.stack.hello if side == "floor" else self.stack.web

    def feed(self, side: str, count: int) -> RequestSource:
        heads = [head("GET", f"/{slug}", self.port(side), **BROWSER) for slug in self.slugs]
        self.clear()
        lines = [(number, "") for number in range(len(heads))]
        return RequestSource(heads, lines, again=True, mark={"side": side})

    def clear(self) -> None:
        self.stack.redis.delete(STREAM)

    def wrong(self, feed: RequestSource, load: Load) -> int:
        if feed.mark["side"] == "floor":
            return load.refused
        clicks = self.clicks(feed, load)
        feed.notes["clicks counted"] = clicks
        feed.notes["redirects answered"] = load.accepted
        return load.refused + beyond(load.accepted, clicks)

    def clicks(self, feed: RequestSource, load: Load) -> int:
        """Clicks in the stream, after time for those that processes still buffer."""
        deadline, stored = time.monotonic() + 3, 0
        while stored < load.accepted and time.monotonic() < deadline:
            time.sleep(0.3)
            entries: Any = self.stack.redis.xrange(STREAM)
            stored = sum(len(orjson.loads(fields[b"batch"])) for _id, fields in entries)
        return stored


class Counted(Redirect):
    """Measures like `redirect`, while a worker writes every click; none may be missing."""

    name = "counted"
    title = "GET /<slug>, cached, clicks counted in the database"
    wanted = Setup("bench_delivery", delivery=True, hello=True)

    def feed(self, side: str, count: int) -> RequestSource:
        feed = super().feed(side, count)
        feed.mark["before"] = self._counted()
        return feed

    def clear(self) -> None:
        """Keeps the stream, which a worker counts."""

    def clicks(self, feed: RequestSource, load: Load) -> int:
        begun, expected = time.monotonic(), feed.mark["before"] + load.accepted
        until(
            lambda: self._counted() >= expected, seconds=DRAINED, event="the counting of all clicks"
        )
        lasted = time.monotonic() - begun
        feed.notes["s until the last was counted"] = round(lasted, 1)
        feed.notes["counted per s"] = round(load.accepted / (load.seconds + lasted))
        return self._counted() - int(feed.mark["before"])

    def _counted(self) -> int:
        query = "SELECT COALESCE(sum(clicks), 0) FROM links_link WHERE slug = ANY(%s)"
        return self.counted(query, self.slugs)[0]


class Cold(Call):
    """Links followed for the first time: neither the process nor Redis has them."""

    name = "cold"
    title = "GET /<slug>, each for the first time"
    least = 0.5
    aim = 0.75

    def feed(self, side: str, count: int) -> RequestSource:
        port, account = self.port(side), self.bench.accounts[0]
        slugs = seed.links(self.stack.store, account, count, url=hello.URL)
        heads = [head("GET", f"/{slug}", port, **BROWSER) for slug in slugs]
        self.stack.redis.delete(STREAM)
        return RequestSource(heads, [(number, "") for number in range(len(heads))])

    def wrong(self, feed: RequestSource, load: Load) -> int:
        return load.refused


ROWS = (Verify, Send, Compat, Hot, Shorten, Redirect, Wait, Counted, Cold, Bulk)
CALLS: dict[str, type[Call]] = {row.name: row for row in ROWS}
