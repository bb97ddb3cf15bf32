"""The API calls measured as a closed loop, most of them beside a floor."""

import time
from collections.abc import Sequence
from typing import Any, ClassVar

import orjson

from links.clicks.buffer import STREAM
from tools.bench.floors import hello
from tools.bench.load.client import Load, ask
from tools.bench.load.generator import RequestSource, head, post, whole
from tools.bench.rows.runner import Call
from tools.stack import seed
from tools.stack.programs import CannotMeasureError
from tools.stack.seed import Account
from tools.stack.stack import Setup, until

BROWSER = {
    "User_Agent": "Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko)"
    " Chrome/141.0.0.0 Mobile Safari/537.36",
    "Accept": "text/html",
    "Accept_Language": "ru",
    "Sec_Fetch_Mode": "navigate",
}
SLUGS = 16


class Verify(Call):
    """One guess at each code, right and wrong in turn; a wrong one is checked and refused."""

    name, title = "verify", "POST /otp/verify"
    least, aim = 0.55, 0.8

    def feed(self, side: str, many: int) -> RequestSource:
        accounts, phones = self.bench.accounts, self.bench.phones.take(many)
        guesses = seed.verifications(self.stack.store, accounts, phones)
        path = "/verify" if side == "floor" else "/api/v1/otp/verify"
        body = _floor_guess if side == "floor" else _guess
        lines = [(one.account, body(accounts[one.account], one)) for one in guesses]
        heads = [post(path, self.port(side), one.key) for one in accounts]
        return RequestSource(heads, lines, mark={"phones": phones})

    def wrong(self, feed: RequestSource, load: Load) -> int:
        right, checked = counted(self, _CHECKED, _ends(feed))
        return beyond(load.accepted, right) + beyond(load.refused, checked - right)


_CHECKED = """
SELECT count(verified_at), COALESCE(sum(attempts), 0) FROM otp_verification
WHERE phone BETWEEN %s AND %s
"""


def _guess(_account: Account, guess: seed.Guess) -> str:
    return as_json(phone=guess.phone, code=guess.code)


def _floor_guess(account: Account, guess: seed.Guess) -> str:
    return as_json(company_id=account.company_id, phone=guess.phone, mac=guess.mac.hex())


class Send(Call):
    """Accepted, and workers woken; nobody waits, nobody delivers."""

    name, title = "send", "POST /otp/send, no wait"
    least: ClassVar[float | None] = 0.5
    aim: ClassVar[float | None] = 0.75

    def senders(self, side: str) -> Sequence[Account]:
        return self.bench.accounts

    def feed(self, side: str, many: int) -> RequestSource:
        phones, senders = self.bench.phones.take(many), self.senders(side)
        path = "/send" if side == "floor" else "/api/v1/otp/send"
        body = _floor_send if side == "floor" else _send
        places = [number % len(senders) for number in range(many)]
        lines = [
            (place, body(senders[place], phone))
            for place, phone in zip(places, phones, strict=True)
        ]
        heads = [post(path, self.port(side), one.key) for one in senders]
        return RequestSource(heads, lines, mark={"phones": phones})

    def wrong(self, feed: RequestSource, load: Load) -> int:
        """A refusal is wrong here, and so is an answer without a message and its hold."""
        messages, holds = counted(self, _ACCEPTED, _ends(feed))
        return load.refused + beyond(load.accepted, min(messages, holds))


_ACCEPTED = """
SELECT count(*), count(t.id) FROM channels_message m
LEFT JOIN billing_transfer t ON t.message_id = m.id AND t.hold = 1 AND t.kind = 'hold'
WHERE m.phone BETWEEN %s AND %s
"""


def _send(_account: Account, phone: str) -> str:
    return as_json(phone=phone, channel="whatsapp")


def _floor_send(account: Account, phone: str) -> str:
    return as_json(company_id=account.company_id, key_id=account.key_id, phone=phone)


class Hot(Send):
    """All from one wallet, beside the same from a hundred."""

    name, title = "hot", "POST /otp/send, one company beside a hundred"
    sides = ("hundred", "one")
    least = aim = None

    def senders(self, side: str) -> Sequence[Account]:
        return self.bench.accounts if side == "hundred" else self.bench.accounts[:1]

    def connections(self, asked: Sequence[int]) -> Sequence[int]:
        return [16]


class Wait(Send):
    """Each send waits until the simulator took it; receipts come back meanwhile."""

    name, title = "wait", "POST /otp/send, waiting for its outcome"
    sides: ClassVar[tuple[str, ...]] = ("ours",)
    least = aim = None
    wanted = Setup("bench_delivery", delivery=True)

    def wrong(self, feed: RequestSource, load: Load) -> int:
        until(lambda: not open_messages(self), seconds=60, what="the delivery of all messages")
        (delivered,) = counted(self, _DELIVERED, _ends(feed))
        return super().wrong(feed, load) + beyond(load.accepted, delivered)


_DELIVERED = """
SELECT count(*) FROM channels_message WHERE phone BETWEEN %s AND %s AND state = 'delivered'
"""


def open_messages(call: Call) -> int:
    query = "SELECT count(*) FROM channels_message WHERE state IN ('queued', 'sent')"
    return counted(call, query, [])[0]


class Shorten(Call):
    name, title = "shorten", "POST /links/shorten"
    least, aim = 0.5, 0.75

    def feed(self, side: str, many: int) -> RequestSource:
        accounts, path = self.bench.accounts, "/api/v1/links/shorten"
        lines = []
        for number in range(many):
            place = number % len(accounts)
            owner = {"company_id": accounts[place].company_id} if side == "floor" else {}
            lines.append((place, as_json(**owner, url=f"{hello.URL}&n={number}")))
        path = "/shorten" if side == "floor" else path
        heads = [post(path, self.port(side), one.key) for one in accounts]
        return RequestSource(heads, lines, mark={"before": self._links()})

    def wrong(self, feed: RequestSource, load: Load) -> int:
        return load.refused + beyond(load.accepted, self._links() - feed.mark["before"])

    def _links(self) -> int:
        return counted(self, "SELECT count(*) FROM links_link", [])[0]


class Redirect(Call):
    """Links everybody follows: known to the process, each click counted to the stream."""

    name, title = "redirect", "GET /<slug>, cached, clicks handed over"
    least: ClassVar[float | None] = 0.6
    aim: ClassVar[float | None] = 0.9
    wanted = Setup("bench_calls", waiters=0, floor=True, hello=True)

    def prepare(self) -> None:
        call = post("/api/v1/links/shorten", self.stack.web, self.bench.accounts[0].key)
        made = [ask(self.stack.web, whole(call, as_json(url=hello.URL))) for _ in range(SLUGS)]
        if any(one.status != 200 for one in made):
            raise CannotMeasureError(f"no link to follow: {made[0].body.decode()[:200]}")
        self.slugs = [one.json()["slug"] for one in made]

    def port(self, side: str) -> int:
        return self.stack.hello if side == "floor" else self.stack.web

    def feed(self, side: str, many: int) -> RequestSource:
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
        """Those in the stream, once what the processes still hold has had time to get there."""
        deadline, found = time.monotonic() + 3, 0
        while found < load.accepted and time.monotonic() < deadline:
            time.sleep(0.3)
            entries: Any = self.stack.redis.xrange(STREAM)
            found = sum(len(orjson.loads(fields[b"batch"])) for _id, fields in entries)
        return found


def as_json(**fields: object) -> str:
    return orjson.dumps(fields).decode()


def _ends(feed: RequestSource) -> list[object]:
    """The first and the last of its phones, which no other feed's lie between."""
    return [feed.mark["phones"][0], feed.mark["phones"][-1]]


def counted(call: Call, query: str, parameters: Sequence[object]) -> tuple[int, ...]:
    found = call.stack.store.execute(query, parameters).fetchone()
    return tuple(map(int, found or ()))


def beyond(answered: int, done: int) -> int:
    """Answers beyond what was done. More may be done than answered: what was under way at the
    end.
    """
    return max(0, answered - done)


CALLS = {call.name: call for call in (Verify, Send, Hot, Shorten, Redirect, Wait)}
