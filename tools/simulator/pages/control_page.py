"""The control page: faults per vendor and phone, and the wire log."""

from collections.abc import Mapping
from itertools import islice

from aiohttp import web

from tools.simulator.carrier import Carrier
from tools.simulator.faults import KINDS, read_fault
from tools.simulator.logs import Exchange
from tools.simulator.messages import digits, iso
from tools.simulator.pages.shared import (
    LANGUAGES,
    Texts,
    clock,
    faults_of,
    language_of,
    options,
    page,
)
from tools.simulator.request_bodies import form, whole
from tools.simulator.vendor import Json

SHOWN = 100


class ControlPage:
    """Plain forms and links: the page needs no script, which only keeps it fresh."""

    def __init__(self, carrier: Carrier) -> None:
        self._carrier = carrier

    def routes(self) -> list[web.RouteDef]:
        return [
            web.get("/control", self.show),
            web.post("/control/faults", self.add),
            web.post("/control/faults/clear", self.clear),
            web.post("/control/faults/{id}/remove", self.remove),
        ]

    async def show(self, request: web.Request) -> web.Response:
        return self._page(request, {})

    async def add(self, request: web.Request) -> web.Response:
        fields: dict[str, object] = {k: v for k, v in (await form(request)).items() if v}
        for name in ("latency_ms", "times"):
            number = whole(fields.get(name))
            if number is not None:  # the rules refuse anything else
                fields[name] = number
        fault, mistakes = read_fault(fields, self._carrier.vendors)
        if mistakes:
            return self._page(request, mistakes)
        self._carrier.faults.add(fault)
        return self._changed(request)

    async def clear(self, request: web.Request) -> web.Response:
        self._carrier.faults.clear()
        return self._changed(request)

    async def remove(self, request: web.Request) -> web.Response:
        self._carrier.faults.remove(request.match_info["id"])
        return self._changed(request)

    def _changed(self, request: web.Request) -> web.Response:
        location = f"/control?lang={language_of(request)}"
        return web.Response(status=303, headers={"Location": location})

    def _page(self, request: web.Request, mistakes: Mapping[str, str]) -> web.Response:
        texts, wire = LANGUAGES[language_of(request)], self._carrier.wire
        provider, phone = request.query.get("provider", ""), digits(request.query.get("phone", ""))
        latest = islice(wire.latest(provider, phone), SHOWN)
        return page(
            request,
            "control.html",
            texts,
            status=400 if mistakes else 200,
            wanted=phone,
            provider=provider,
            mistakes="; ".join(f"{name}: {why}" for name, why in mistakes.items()),
            faults=faults_of(self._carrier.faults, texts),
            kinds=options(texts, "kind", KINDS),
            providers=options(texts, "provider", self._carrier.vendors),
            seen=options(texts, "provider", wire.providers),
            exchanges_count=texts["exchanges_lead"].format(SHOWN),
            exchanges=[self._exchange(exchange, texts) for exchange in latest],
        )

    def _exchange(self, exchange: Exchange, texts: Texts) -> Json:
        wire, outcome, direction = self._carrier.wire, exchange.outcome, "to_vendor"
        if exchange.is_receipt:
            direction = "visit" if exchange.method == "GET" else "to_us"
        return {
            "key": f"{exchange.number}-{outcome}",
            "at": iso(exchange.at),
            "clock": clock(exchange.at),
            "provider": texts[f"provider_{exchange.provider}"],
            "direction": texts[direction],
            "phone": exchange.phone,
            "tone": "delivered" if outcome.startswith(("2", "3")) else "failed",
            "said": texts.get(f"outcome_{outcome}", outcome) if outcome else texts["no_answer"],
            "ms": texts["ms"].format(round(exchange.seconds * 1000)) if outcome else "",
            "request": wire.request_text(exchange),
            "answer": wire.response_text(exchange) or texts["empty_body"],
        }
