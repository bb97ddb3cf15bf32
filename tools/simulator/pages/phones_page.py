"""The phones page: phones with their messages, and active faults."""

import html
import time
from itertools import islice
from pathlib import Path
from string import Template
from urllib.parse import urlencode

from aiohttp import web

from tools.simulator.carrier import Carrier
from tools.simulator.channels import CHANNELS
from tools.simulator.faults import KINDS, Fault
from tools.simulator.messages.message import Message, iso
from tools.simulator.messages.message_content import CLOSING, LINK, digits
from tools.simulator.messages.phones import Phone
from tools.simulator.pages.local_only import LocalOnly
from tools.simulator.pages.page_texts import LANGUAGES, choose, fault_words

HERE = Path(__file__).parent
PAGE = Template((HERE / "templates" / "page.html").read_text(encoding="utf-8"))
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
        lang = choose(request.query.get("lang", ""), request.headers.get("Accept-Language", ""))
        wanted = digits(request.query.get("phone", ""))
        text = PhonesView(self._carrier, lang, wanted).render()
        return web.Response(text=text, content_type="text/html", headers=HEADERS)


class PhonesView:
    """One rendering in one language; every word that came from outside is escaped."""

    def __init__(self, carrier: Carrier, lang: str, wanted: str) -> None:
        self._carrier = carrier
        self._lang = lang
        self._wanted = wanted
        self._words = {name: html.escape(word) for name, word in LANGUAGES[lang].items()}

    def render(self) -> str:
        words = self._words
        other = "ru" if self._lang == "en" else "en"
        parts = {
            "lang": self._lang,
            "other": other,
            "wanted": self._wanted,
            "reset": f'<a href="/?lang={self._lang}">{words["all_phones"]}</a>'
            if self._wanted
            else "",
            "phones": self._phones(),
            "faults_title": words["faults"],
            "faults": self._faults(),
            "kinds": "".join(self._kind(kind) for kind in ("", *KINDS)),
            "channels": "".join(
                f'<option value="{name}">{channel.title}</option>'
                for name, channel in CHANNELS.items()
            ),
        }
        return PAGE.substitute(words | parts)

    def _phones(self) -> str:
        fitting = (p for p in self._carrier.log.phones if self._wanted in p.digits)
        found = list(islice(fitting, PHONES + 1))
        if not found:
            return self._nothing()
        limit = MESSAGES_ALONE if len(found) == 1 and self._wanted else MESSAGES
        cards = [self._phone(phone, limit) for phone in found[:PHONES]]
        if len(found) > PHONES:
            cards.append(f'<p class="quiet">{self._words["more_phones"]}</p>')
        return "".join(cards)

    def _nothing(self) -> str:
        words = self._words
        if self._wanted:
            return (
                f'<div class="empty"><h2>{words["not_found"]}</h2>'
                f"<p>{words['not_found_hint']}</p></div>"
            )
        example = (
            f"curl -X POST {self._carrier.settings.public_url}/api/v1/otp/send \\\n"
            "  -H 'Authorization: Bearer kv_live_…' \\\n"
            "  -H 'Content-Type: application/json' \\\n"
            """  -d '{"phone": "+77010000000"}'"""
        )
        return (
            f'<div class="empty"><h2>{words["empty"]}</h2><p>{words["empty_hint"]}</p>'
            f"<pre>{html.escape(example)}</pre></div>"
        )

    def _phone(self, phone: Phone, limit: int) -> str:
        query = html.escape(urlencode({"lang": self._lang, "phone": phone.digits}))
        messages = self._carrier.log.of_phone(phone.digits, limit)
        rows = "".join(self._message(message) for message in messages)
        more = ""
        if phone.messages > len(messages):
            more = f'<p><a href="/?{query}">{self._words["more"]}</a></p>'
        listed = f'<ul class="messages">{rows}</ul>' if rows else self._quiet("no_messages")
        return (
            f'<article class="phone" data-phone="{phone.digits}">'
            f'<header><h2><a href="/?{query}">+{phone.digits}</a></h2></header>'
            f"{self._contact(phone)}{listed}{more}</article>"
        )

    def _contact(self, phone: Phone) -> str:
        words = self._words
        buttons = "".join(
            f'<button type="button" class="needs-js" data-url="/phones/{phone.digits}/contact" '
            f'data-action="{action}">{words[action]}</button>'
            for action in CONTACT_ACTIONS[phone.contact]
        )
        state = words[f"contact_{phone.contact}"]
        return (
            f'<div class="contact"><span class="quiet" data-contact="{phone.contact}">'
            f"{words['contact']}: {state}</span>{buttons}</div>"
        )

    def _message(self, message: Message) -> str:
        words = self._words
        return (
            f'<li data-message="{message.id}"><div class="meta">'
            f"<b>{words[f'provider_{message.provider}']}</b>"
            f'<span class="state-{message.state}">{words[f"state_{message.state}"]}</span>'
            f'<time datetime="{iso(message.at)}">{clock(message.at)}</time></div>'
            f'<p class="text">{_linked(message.text)}</p>{self._acts(message)}</li>'
        )

    def _acts(self, message: Message) -> str:
        words, acts = self._words, ""
        if message.code:
            acts += (
                f'<code class="code">{html.escape(message.code)}</code>'
                f'<button type="button" class="needs-js" data-copy>{words["copy"]}</button>'
            )
        vendor = self._carrier.vendors[message.provider]
        if vendor.can_read and message.state in {"sent", "delivered"}:
            acts += (
                f'<button type="button" class="needs-js" data-url="/messages/{message.id}/read">'
                f"{words['mark_read']}</button>"
            )
        if vendor.can_reply:
            acts += (
                f'<button type="button" class="needs-js" data-url="/messages/{message.id}/reply">'
                f"{words['reply_stop']}</button>"
            )
        return f'<div class="acts">{acts}</div>' if acts else ""

    def _faults(self) -> str:
        rows = "".join(self._fault(fault) for fault in self._carrier.faults)
        if not rows:
            return self._quiet("no_faults")
        clear = self._words["clear"]
        return (
            f"<ul>{rows}</ul>"
            '<button type="button" class="needs-js" data-method="DELETE" data-url="/faults">'
            f"{clear}</button>"
        )

    def _fault(self, fault: Fault) -> str:
        return (
            f"<li><span>{fault_words(fault, self._words)}</span>"
            '<button type="button" class="needs-js" data-method="DELETE" '
            f'data-url="/faults/{fault.id}">'
            f"{self._words['remove']}</button></li>"
        )

    def _kind(self, kind: str) -> str:
        word = self._words[f"kind_{kind or 'latency'}"]
        return f'<option value="{kind}">{word}</option>'

    def _quiet(self, word: str) -> str:
        return f'<p class="quiet">{self._words[word]}</p>'


def clock(moment: float) -> str:
    local = time.localtime(moment)
    today = time.strftime("%Y%m%d") == time.strftime("%Y%m%d", local)
    return time.strftime("%H:%M:%S" if today else "%d.%m.%Y %H:%M:%S", local)


def _linked(text: str) -> str:
    """The text with its links made clickable; nothing but http(s) ever becomes a link."""
    parts, start = [], 0
    for found in LINK.finditer(text):
        link = found.group().rstrip(CLOSING)
        shown = html.escape(link)
        parts += [
            html.escape(text[start : found.start()]),
            f'<a href="{shown}" target="_blank" rel="noopener noreferrer">{shown}</a>',
        ]
        start = found.start() + len(link)
    return "".join([*parts, html.escape(text[start:])])
