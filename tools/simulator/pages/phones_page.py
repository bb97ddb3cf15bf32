"""The phones page: phones with their messages, and active faults."""

import html
import time
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from string import Template
from urllib.parse import urlencode

from aiohttp import web

from tools.simulator.carrier import Carrier
from tools.simulator.channels import CHANNELS
from tools.simulator.faults import KINDS
from tools.simulator.messages import CLOSING, LINK, Message, Phone, digits, iso
from tools.simulator.pages.shared import LANGUAGES, LocalOnly, fault_words, language_of

HERE = Path(__file__).parent
PHONES, MESSAGES, MESSAGES_ALONE = 30, 10, 500
HEADERS = {
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
}
CONTACT_ACTIONS = {
    "default": ("share", "unshare", "stop", "block"),
    "shared": ("share", "unshare", "start", "stop", "block"),
    "unshared": ("start", "share", "block"),
    "blocked": ("unblock",),
}


class View:
    """One rendering in one language; every word that came from outside is escaped."""

    template: str

    def __init__(self, carrier: Carrier, request: web.Request) -> None:
        self.carrier, self.query = carrier, request.query
        self.lang = language_of(request)
        self.wanted = digits(self.query.get("phone", ""))
        self.words = {name: html.escape(word) for name, word in LANGUAGES[self.lang].items()}

    def page(self, **parts: str) -> str:
        text = (HERE / "templates" / self.template).read_text(encoding="utf-8")
        shared = {
            "lang": self.lang,
            "other": "ru" if self.lang == "en" else "en",
            "wanted": self.wanted,
            "faults_title": self.words["faults"],
            "kinds": self.options(KINDS, "kind", any_word="kind_latency"),
        }
        return Template(text).substitute(self.words | shared | parts)

    def options(self, values: Iterable[str], kind: str, any_word: str, chosen: str = "") -> str:
        shown = [f'<option value="">{self.words[any_word]}</option>']
        for value in values:
            selected = " selected" if value == chosen else ""
            word = self.words[f"{kind}_{value}"]
            shown.append(f'<option value="{value}"{selected}>{word}</option>')
        return "".join(shown)

    def quiet(self, word: str) -> str:
        return f'<p class="quiet">{self.words[word]}</p>'

    def button(self, word: str, data: str, method: str = "") -> str:
        """For the page's script; `data` are its attributes."""
        how = f' data-method="{method}"' if method else ""
        text = self.words[word]
        return f'<button type="button" class="needs-js"{how} data-{data}>{text}</button>'


class PhonesPage:
    def __init__(self, carrier: Carrier) -> None:
        self._carrier = carrier

    def routes(self, guard: LocalOnly) -> list[web.RouteDef | web.StaticDef]:
        return [
            web.get("/", guard(self.show)),
            web.get("/events", guard(self._carrier.events.stream)),
            web.static("/static", HERE / "static"),
        ]

    async def show(self, request: web.Request) -> web.Response:
        text = PhonesView(self._carrier, request).render()
        return web.Response(text=text, content_type="text/html", headers=HEADERS)


class PhonesView(View):
    template = "page.html"

    def render(self) -> str:
        reset = f'<a href="/?lang={self.lang}">{self.words["all_phones"]}</a>'
        channels = (f'<option value="{n}">{row.title}</option>' for n, row in CHANNELS.items())
        return self.page(
            reset=reset if self.wanted else "",
            phones=self._phones(),
            faults=self._faults(),
            channels="".join(channels),
        )

    def _phones(self) -> str:
        fitting = (p for p in self.carrier.log.phones if self.wanted in p.digits)
        shown = list(islice(fitting, PHONES + 1))
        if not shown:
            return self._nothing()
        limit = MESSAGES_ALONE if len(shown) == 1 and self.wanted else MESSAGES
        cards = [self._phone(phone, limit) for phone in shown[:PHONES]]
        if len(shown) > PHONES:
            cards.append(self.quiet("more_phones"))
        return "".join(cards)

    def _nothing(self) -> str:
        title, hint = ("not_found", "not_found_hint") if self.wanted else ("empty", "empty_hint")
        example = (
            f"curl -X POST {self.carrier.settings.public_url}/api/v1/otp/send \\\n"
            "  -H 'Authorization: Bearer kv_live_…' \\\n"
            "  -H 'Content-Type: application/json' \\\n"
            """  -d '{"phone": "+77010000000"}'"""
        )
        shown = "" if self.wanted else f"<pre>{html.escape(example)}</pre>"
        head = f"<h2>{self.words[title]}</h2><p>{self.words[hint]}</p>"
        return f'<div class="empty">{head}{shown}</div>'

    def _phone(self, phone: Phone, limit: int) -> str:
        texts, query = self.words, {"lang": self.lang, "phone": phone.digits}
        messages = self.carrier.log.of_phone(phone.digits, limit)
        rows = "".join(self._message(message) for message in messages)
        link = f'<a href="/?{html.escape(urlencode(query))}">'
        more = f"<p>{link}{texts['more']}</a></p>" if phone.messages > len(messages) else ""
        listed = f'<ul class="messages">{rows}</ul>' if rows else self.quiet("no_messages")
        url = f'url="/phones/{phone.digits}/contact" data-action='
        actions = CONTACT_ACTIONS[phone.contact]
        buttons = "".join(self.button(action, f'{url}"{action}"') for action in actions)
        return (
            f'<article class="phone" data-phone="{phone.digits}">'
            f"<header><h2>{link}+{phone.digits}</a></h2></header>"
            f'<div class="contact"><span class="quiet" data-contact="{phone.contact}">'
            f"{texts['contact']}: {texts[f'contact_{phone.contact}']}</span>{buttons}</div>"
            f"{listed}{more}</article>"
        )

    def _message(self, message: Message) -> str:
        texts, url = self.words, f'url="/messages/{message.id}'
        vendor = self.carrier.vendors[message.provider]
        acts = ""
        if message.code:
            acts += f'<code class="code">{html.escape(message.code)}</code>'
            acts += self.button("copy", "copy")
        if vendor.can_read and message.state in {"sent", "delivered"}:
            acts += self.button("mark_read", f'{url}/read"')
        if vendor.can_reply:
            acts += self.button("reply_stop", f'{url}/reply"')
        acts = f'<div class="acts">{acts}</div>' if acts else ""
        return (
            f'<li data-message="{message.id}"><div class="meta">'
            f"<b>{texts[f'provider_{message.provider}']}</b>"
            f'<span class="state-{message.state}">{texts[f"state_{message.state}"]}</span>'
            f'<time datetime="{iso(message.at)}">{clock(message.at)}</time></div>'
            f'<p class="text">{_linked(message.text)}</p>{acts}</li>'
        )

    def _faults(self) -> str:
        rows = ""
        for fault in self.carrier.faults:
            remove = self.button("remove", f'url="/faults/{fault.id}"', "DELETE")
            rows += f"<li><span>{fault_words(fault, self.words)}</span>{remove}</li>"
        clear = self.button("clear", 'url="/faults"', "DELETE")
        return f"<ul>{rows}</ul>{clear}" if rows else self.quiet("no_faults")


def clock(moment: float) -> str:
    local = time.localtime(moment)
    today = time.strftime("%Y%m%d") == time.strftime("%Y%m%d", local)
    return time.strftime("%H:%M:%S" if today else "%d.%m.%Y %H:%M:%S", local)


def _linked(text: str) -> str:
    """The text with its links made clickable; nothing but http(s) ever becomes a link."""
    parts, start = [], 0
    for match in LINK.finditer(text):
        link = match.group().rstrip(CLOSING)
        shown = html.escape(link)
        parts += [
            html.escape(text[start : match.start()]),
            f'<a href="{shown}" target="_blank" rel="noopener noreferrer">{shown}</a>',
        ]
        start = match.start() + len(link)
    return "".join([*parts, html.escape(text[start:])])
