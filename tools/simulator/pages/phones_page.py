"""The phones page: phones with their messages, and active faults."""

from collections.abc import Iterator
from itertools import islice

from aiohttp import web

from tools.simulator.carrier import Carrier
from tools.simulator.channels import CHANNELS
from tools.simulator.faults import KINDS
from tools.simulator.messages import CLOSING, LINK, Message, Phone, digits, iso
from tools.simulator.pages.shared import (
    LANGUAGES,
    Texts,
    clock,
    faults_of,
    language_of,
    options,
    page,
)
from tools.simulator.vendor import Json

PHONES = 30
MESSAGES = 10
MESSAGES_ALONE = 500
CONTACT_ACTIONS = {
    "default": ("share", "unshare", "stop", "block"),
    "shared": ("share", "unshare", "start", "stop", "block"),
    "unshared": ("start", "share", "block"),
    "blocked": ("unblock",),
}


class PhonesPage:
    def __init__(self, carrier: Carrier) -> None:
        self._carrier = carrier

    def routes(self) -> list[web.RouteDef]:
        return [web.get("/", self.show)]

    async def show(self, request: web.Request) -> web.Response:
        texts, searched = LANGUAGES[language_of(request)], digits(request.query.get("phone", ""))
        fitting = (phone for phone in self._carrier.log.phones if searched in phone.digits)
        phones = list(islice(fitting, PHONES + 1))
        limit = MESSAGES_ALONE if len(phones) == 1 and searched else MESSAGES
        return page(
            request,
            "phones.html",
            texts,
            wanted=searched,
            phones=[self._phone(phone, limit, texts) for phone in phones[:PHONES]],
            has_more=len(phones) > PHONES,
            public_url=self._carrier.settings.public_url,
            faults=faults_of(self._carrier.faults, texts),
            kinds=options(texts, "kind", KINDS),
            channels=[(name, row.title) for name, row in CHANNELS.items()],
        )

    def _phone(self, phone: Phone, limit: int, texts: Texts) -> Json:
        messages = self._carrier.log.of_phone(phone.digits, limit)
        return {
            "digits": phone.digits,
            "contact": phone.contact,
            "contact_text": texts[f"contact_{phone.contact}"],
            "actions": [(action, texts[action]) for action in CONTACT_ACTIONS[phone.contact]],
            "messages": [self._message(message, texts) for message in messages],
            "has_more": phone.messages > len(messages),
        }

    def _message(self, message: Message, texts: Texts) -> Json:
        vendor = self._carrier.vendors[message.provider]
        return {
            **message.shown(),
            "provider": texts[f"provider_{message.provider}"],
            "state_text": texts[f"state_{message.state}"],
            "at": iso(message.at),
            "clock": clock(message.at),
            "parts": list(_parts(message.text)),
            "can_read": vendor.can_read and message.state in {"sent", "delivered"},
            "can_reply": vendor.can_reply,
        }


def _parts(text: str) -> Iterator[tuple[str, str]]:
    """Text, and the link after it; nothing but http(s) ever becomes a link."""
    start = 0
    for match in LINK.finditer(text):
        link = match.group().rstrip(CLOSING)
        yield text[start : match.start()], link
        start = match.start() + len(link)
    yield text[start:], ""
