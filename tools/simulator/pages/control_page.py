"""The control page: faults per vendor and phone, and the wire log."""

import html
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from string import Template
from urllib.parse import urlencode

from aiohttp import web

from tools.simulator.carrier import Carrier
from tools.simulator.faults import KINDS, PROVIDERS, Fault, read_fault
from tools.simulator.messages.message import iso
from tools.simulator.messages.message_content import digits
from tools.simulator.pages.local_only import LocalOnly
from tools.simulator.pages.page_texts import LANGUAGES, choose, fault_words
from tools.simulator.pages.phones_page import HEADERS, clock
from tools.simulator.request_bodies import form, whole
from tools.simulator.wire_log import Exchange

HERE = Path(__file__).parent
PAGE = Template((HERE / "templates" / "control.html").read_text(encoding="utf-8"))
SHOWN = 100
# Without a referrer a browser calls the origin of a form "null", and the guard refuses it.
FORM_HEADERS = HEADERS | {"Referrer-Policy": "same-origin"}
NUMBERS = ("latency_ms", "times")


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
        given = {name: value for name, value in (await form(request)).items() if value}
        numbers = {name: _number(given[name]) for name in NUMBERS if name in given}
        known, mistakes = read_fault(given | numbers)
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
        return web.Response(status=303, headers={"Location": f"/control?lang={_lang(request)}"})

    def _page(self, request: web.Request, mistakes: Mapping[str, str]) -> web.Response:
        return web.Response(
            text=ControlView(self._carrier, _lang(request), request.query).render(mistakes),
            status=400 if mistakes else 200,
            content_type="text/html",
            headers=FORM_HEADERS,
        )


def _number(text: str) -> int | str:
    """What is none is left for the rules to refuse."""
    number = whole(text)
    return text if number is None else number


def _lang(request: web.Request) -> str:
    return choose(request.query.get("lang", ""), request.headers.get("Accept-Language", ""))


class ControlView:
    """One rendering in one language; every word that came from outside is escaped."""

    def __init__(self, carrier: Carrier, lang: str, query: Mapping[str, str]) -> None:
        self._carrier = carrier
        self._lang = lang
        self._provider = query.get("provider", "")
        self._wanted = digits(query.get("phone", ""))
        self._words = {name: html.escape(word) for name, word in LANGUAGES[lang].items()}

    def render(self, mistakes: Mapping[str, str]) -> str:
        words = self._words
        query = {"lang": self._lang, "provider": self._provider, "phone": self._wanted}
        parts = {
            "lang": self._lang,
            "other": "ru" if self._lang == "en" else "en",
            "wanted": self._wanted,
            "here": html.escape(f"/control?{urlencode(query)}"),
            "mistakes": self._mistakes(mistakes),
            "faults_title": words["faults"],
            "fault_list": self._faults(),
            "kinds": "".join(map(self._kind, ("", *KINDS))),
            "providers": self._providers(PROVIDERS),
            "providers_filter": self._providers(self._carrier.wire.providers),
            "exchanges_count": words["exchanges_lead"].format(SHOWN),
            "exchange_list": self._exchanges(),
        }
        return PAGE.substitute(words | parts)

    def _kind(self, kind: str) -> str:
        return self._option(kind, f"kind_{kind or 'latency'}")

    def _option(self, value: str, word: str, chosen: str = "") -> str:
        selected = " selected" if value and value == chosen else ""
        return f'<option value="{value}"{selected}>{self._words[word]}</option>'

    def _providers(self, names: Iterable[str]) -> str:
        named = (self._option(name, f"provider_{name}", self._provider) for name in names)
        return self._option("", "any_provider") + "".join(named)

    def _mistakes(self, mistakes: Mapping[str, str]) -> str:
        if not mistakes:
            return ""
        problems = "; ".join(f"{name}: {why}" for name, why in mistakes.items())
        return (
            f'<p class="notice" role="alert">{self._words["refused"]}. {html.escape(problems)}</p>'
        )

    def _faults(self) -> str:
        rows = "".join(self._fault(fault) for fault in self._carrier.faults)
        if not rows:
            return f'<p class="quiet">{self._words["no_faults"]}</p>'
        return f"<ul>{rows}</ul>{self._button('clear', 'clear')}"

    def _fault(self, fault: Fault) -> str:
        description = fault_words(fault, self._words)
        return f"<li><span>{description}</span>{self._button(f'{fault.id}/remove', 'remove')}</li>"

    def _button(self, action: str, word: str) -> str:
        return (
            f'<form action="/control/faults/{action}?lang={self._lang}" method="post">'
            f'<button type="submit">{self._words[word]}</button></form>'
        )

    def _exchanges(self) -> str:
        latest = self._carrier.wire.latest(self._provider, self._wanted)
        rows = [self._exchange(one) for one in islice(latest, SHOWN)]
        return "".join(rows) or f'<p class="quiet">{self._words["no_exchanges"]}</p>'

    def _exchange(self, one: Exchange) -> str:
        words, wire = self._words, self._carrier.wire
        answer = html.escape(wire.answer_text(one)) or words["empty_body"]
        return (
            f'<details class="exchange" data-key="{one.number}-{html.escape(one.outcome)}">'
            f"<summary>{self._summary(one)}</summary>"
            f"<h3>{words['request']}</h3><pre>{html.escape(wire.request_text(one))}</pre>"
            f"<h3>{words['answer']}</h3><pre>{answer}</pre></details>"
        )

    def _summary(self, one: Exchange) -> str:
        words = self._words
        parts = [
            f'<time datetime="{iso(one.at)}">{clock(one.at)}</time>',
            f"<b>{words[f'provider_{one.provider}']}</b>",
            f"<span>{words[_direction(one)]}</span>",
            f"<span>+{html.escape(one.phone)}</span>" if one.phone else "",
            f'<span class="{_tone(one)}">{self._outcome(one)}</span>',
            f"<span>{words['ms'].format(round(one.seconds * 1000))}</span>" if one.outcome else "",
        ]
        return " ".join(filter(None, parts))

    def _outcome(self, one: Exchange) -> str:
        if not one.outcome:
            return self._words["no_answer"]
        return self._words.get(f"outcome_{one.outcome}", html.escape(one.outcome))


def _direction(one: Exchange) -> str:
    if not one.is_receipt:
        return "to_vendor"
    return "visit" if one.method == "GET" else "to_us"


def _tone(one: Exchange) -> str:
    return "state-delivered" if one.outcome.startswith(("2", "3")) else "state-failed"
