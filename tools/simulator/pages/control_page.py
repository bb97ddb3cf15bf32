"""The control page: faults per vendor and phone, and the wire log."""

import html
from collections.abc import Mapping
from itertools import islice
from urllib.parse import urlencode

from aiohttp import web

from tools.simulator.carrier import Carrier
from tools.simulator.faults import read_fault
from tools.simulator.logs import Exchange
from tools.simulator.messages import iso
from tools.simulator.pages.phones_page import HEADERS, View, clock
from tools.simulator.pages.shared import LocalOnly, fault_words, language_of
from tools.simulator.request_bodies import form, whole

SHOWN = 100
# Without a referrer a browser calls the origin of a form "null", and the guard refuses it.
FORM_HEADERS = HEADERS | {"Referrer-Policy": "same-origin"}


class ControlPage:
    """Plain forms and links: the page needs no script, which only keeps it fresh."""

    def __init__(self, carrier: Carrier) -> None:
        self._carrier = carrier

    def routes(self, guard: LocalOnly) -> list[web.RouteDef]:
        return [
            web.get("/control", guard(self.show)),
            web.post("/control/faults", guard(self.add)),
            web.post("/control/faults/clear", guard(self.clear)),
            web.post("/control/faults/{id}/remove", guard(self.remove)),
        ]

    async def show(self, request: web.Request) -> web.Response:
        return self._page(request, {})

    async def add(self, request: web.Request) -> web.Response:
        given: dict[str, object] = {k: v for k, v in (await form(request)).items() if v}
        for name in ("latency_ms", "times"):
            number = whole(given.get(name))
            if number is not None:  # the rules refuse anything else
                given[name] = number
        known, mistakes = read_fault(given, self._carrier.vendors)
        if mistakes:
            return self._page(request, mistakes)
        self._carrier.faults.add(known)
        return self._changed(request)

    async def clear(self, request: web.Request) -> web.Response:
        self._carrier.faults.clear()
        return self._changed(request)

    async def remove(self, request: web.Request) -> web.Response:
        self._carrier.faults.remove(request.match_info["id"])
        return self._changed(request)

    def _changed(self, request: web.Request) -> web.Response:
        self._carrier.events.changed()
        location = f"/control?lang={language_of(request)}"
        return web.Response(status=303, headers={"Location": location})

    def _page(self, request: web.Request, mistakes: Mapping[str, str]) -> web.Response:
        return web.Response(
            text=ControlView(self._carrier, request).render(mistakes),
            status=400 if mistakes else 200,
            content_type="text/html",
            headers=FORM_HEADERS,
        )


class ControlView(View):
    template = "control.html"

    def render(self, mistakes: Mapping[str, str]) -> str:
        texts, provider, wire = self.words, self.query.get("provider", ""), self.carrier.wire
        query = {"lang": self.lang, "provider": provider, "phone": self.wanted}
        problems = html.escape("; ".join(f"{name}: {why}" for name, why in mistakes.items()))
        refused = f'<p class="notice" role="alert">{texts["refused"]}. {problems}</p>'
        faults = "".join(
            f"<li><span>{fault_words(fault, texts)}</span>"
            f"{self._button(f'{fault.id}/remove', 'remove')}</li>"
            for fault in self.carrier.faults
        )
        latest = map(self._exchange, islice(wire.latest(provider, self.wanted), SHOWN))
        return self.page(
            here=html.escape(f"/control?{urlencode(query)}"),
            mistakes=refused if mistakes else "",
            fault_list=f"<ul>{faults}</ul>{self._button('clear', 'clear')}"
            if faults
            else self.quiet("no_faults"),
            providers=self.options(self.carrier.vendors, "provider", "any_provider", provider),
            providers_filter=self.options(wire.providers, "provider", "any_provider", provider),
            exchanges_count=texts["exchanges_lead"].format(SHOWN),
            exchange_list="".join(latest) or self.quiet("no_exchanges"),
        )

    def _button(self, action: str, word: str) -> str:
        return (
            f'<form action="/control/faults/{action}?lang={self.lang}" method="post">'
            f'<button type="submit">{self.words[word]}</button></form>'
        )

    def _exchange(self, exchange: Exchange) -> str:
        texts, wire = self.words, self.carrier.wire
        answer = html.escape(wire.answer_text(exchange)) or texts["empty_body"]
        direction = "to_vendor"
        if exchange.is_receipt:
            direction = "visit" if exchange.method == "GET" else "to_us"
        outcome = html.escape(exchange.outcome)
        said = texts.get(f"outcome_{exchange.outcome}", outcome) if outcome else texts["no_answer"]
        tone = "delivered" if exchange.outcome.startswith(("2", "3")) else "failed"
        summary = [
            f'<time datetime="{iso(exchange.at)}">{clock(exchange.at)}</time>',
            f"<b>{texts[f'provider_{exchange.provider}']}</b>",
            f"<span>{texts[direction]}</span>",
            f"<span>+{html.escape(exchange.phone)}</span>" if exchange.phone else "",
            f'<span class="state-{tone}">{said}</span>',
            f"<span>{texts['ms'].format(round(exchange.seconds * 1000))}</span>" if outcome else "",
        ]
        return (
            f'<details class="exchange" data-key="{exchange.number}-{outcome}">'
            f"<summary>{' '.join(filter(None, summary))}</summary>"
            f"<h3>{texts['request']}</h3><pre>{html.escape(wire.request_text(exchange))}</pre>"
            f"<h3>{texts['answer']}</h3><pre>{answer}</pre></details>"
        )
