"""Many short links: first visits, unknown slugs, click counting, bulk creation."""

import time
from collections.abc import Sequence
from typing import ClassVar

from links.clicks.buffer import STREAM
from links.make.bulk import MAX_LINKS
from tools.bench.floors import hello
from tools.bench.load.client import Load
from tools.bench.load.generator import RequestSource, head, post
from tools.bench.rows.api_calls import BROWSER, Redirect, as_json, beyond, counted
from tools.bench.rows.runner import Call
from tools.stack import seed
from tools.stack.stack import Setup, until

DRAINED = 120.0  # seconds


class Counted(Redirect):
    """As `redirect`, while a worker writes every click to the database; none may be missing."""

    name, title = "counted", "GET /<slug>, cached, clicks counted in the database"
    wanted = Setup("bench_delivery", delivery=True, hello=True)

    def feed(self, side: str, many: int) -> RequestSource:
        feed = super().feed(side, many)
        feed.mark["before"] = self._counted()
        return feed

    def clear(self) -> None:
        """Nothing: what is in the stream, somebody counts."""

    def clicks(self, feed: RequestSource, load: Load) -> int:
        begun, wanted = time.monotonic(), feed.mark["before"] + load.accepted
        until(lambda: self._counted() >= wanted, seconds=DRAINED, what="the counting of all clicks")
        lasted = time.monotonic() - begun
        feed.notes["s until the last was counted"] = round(lasted, 1)
        feed.notes["counted per s"] = round(load.accepted / (load.seconds + lasted))
        return self._counted() - int(feed.mark["before"])

    def _counted(self) -> int:
        query = "SELECT COALESCE(sum(clicks), 0) FROM links_link WHERE slug = ANY(%s)"
        return counted(self, query, [self.slugs])[0]


class Cold(Call):
    """Links nobody followed yet: neither the process nor Redis knows them."""

    name, title = "cold", "GET /<slug>, each for the first time"
    least, aim = 0.5, 0.75

    def slugs(self, many: int) -> Sequence[str]:
        return seed.links(self.stack.store, self.bench.accounts[0], many, url=hello.URL)

    def feed(self, side: str, many: int) -> RequestSource:
        port = self.port(side)
        heads = [head("GET", f"/{slug}", port, **BROWSER) for slug in self.slugs(many)]
        self.stack.redis.delete(STREAM)
        return RequestSource(heads, [(number, "") for number in range(len(heads))])

    def wrong(self, feed: RequestSource, load: Load) -> int:
        return load.refused


class Scan(Cold):
    """Slugs that nobody made, as who tries them at random asks for them; refusal is right."""

    name, title = "scan", "GET /<slug>, none of them there"
    is_refused: ClassVar[bool] = True

    def slugs(self, many: int) -> Sequence[str]:
        return seed.slugs(many)

    def wrong(self, feed: RequestSource, load: Load) -> int:
        return load.accepted


class Bulk(Call):
    """A thousand links in each request; a second's requests times a thousand are its links."""

    name, title = "bulk", f"POST /links/bulk, {MAX_LINKS} links a request"
    least, aim = 0.2, 0.4
    guess: ClassVar[float] = 10.0

    def connections(self, asked: Sequence[int]) -> Sequence[int]:
        return [1]

    def feed(self, side: str, many: int) -> RequestSource:
        account = self.bench.accounts[0]
        path = "/bulk" if side == "floor" else "/api/v1/links/bulk"
        owner = {"company_id": account.company_id} if side == "floor" else {}
        links = [{"url": f"{hello.URL}&n={number}"} for number in range(MAX_LINKS)]
        body = as_json(**owner, links=links)
        heads = [post(path, self.port(side), account.key)]
        return RequestSource(heads, [(0, body)] * many, mark={"before": self._links()})

    def wrong(self, feed: RequestSource, load: Load) -> int:
        made = self._links() - feed.mark["before"]
        feed.notes["links per s"] = round(load.accepted * MAX_LINKS / load.seconds)
        return load.refused + beyond(load.accepted, made // MAX_LINKS)

    def _links(self) -> int:
        return counted(self, "SELECT count(*) FROM links_link", [])[0]


CALLS = {call.name: call for call in (Counted, Cold, Scan, Bulk)}
