"""Bots that open the links of a message: messengers for previews, scanners for threats.

Nobody does unless a fault says so, as with the messages that the service sends: WhatsApp previews
free text whose sender asks for it and no button of a template; the bot says `is_disabled`; and a
phone previews an SMS of an unknown sender at a tap. A message that is forwarded is another thing.

Only the service's own links are opened, on loopback, and none is followed to where it leads.
"""

from collections.abc import Iterator
from functools import partial
from urllib.parse import urlsplit

import aiohttp
from yarl import URL

from tools.simulator.channels import CHANNELS
from tools.simulator.faults import PREVIEW, SCAN
from tools.simulator.messages.message import Message
from tools.simulator.settings import Settings
from tools.simulator.vendor import LOOPBACK, Tell
from tools.simulator.wire_log import WireLog

TIMEOUT = aiohttp.ClientTimeout(total=10)
# A scanner with a browser's headers; only its speed gives it away.
SCANNER = {
    "User-Agent": "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36"
    " (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36",
    "Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
    "Accept-Language": "en-US,en;q=0.9",
    "Sec-Fetch-Site": "none",
    "Sec-Fetch-Mode": "navigate",
    "Sec-Fetch-Dest": "document",
}


class LinkPreviews:
    def __init__(self, settings: Settings, wire: WireLog) -> None:
        self._own = {urlsplit(url)[:2] for url in (settings.short_url, settings.public_url)}
        self._wire = wire

    def of(self, message: Message) -> Iterator[Tell]:
        previewer = CHANNELS[message.channel].previewer
        visitors = {PREVIEW: {"User-Agent": previewer}, SCAN: SCANNER}
        for kind, headers in visitors.items():
            if headers["User-Agent"] and message.suffers(kind):
                for link in filter(self._is_own, message.links):
                    yield partial(self._open, message, link, headers)

    def _is_own(self, link: str) -> bool:
        parts = urlsplit(link)
        return parts[:2] in self._own and parts.hostname in LOOPBACK

    async def _open(self, message: Message, link: str, headers: dict[str, str]) -> bool:
        exchange = self._wire.visit(message.provider, message.phone, link, headers)
        try:
            async with (
                aiohttp.ClientSession(timeout=TIMEOUT) as session,
                session.get(URL(link, encoded=True), headers=headers, allow_redirects=False) as got,
            ):
                self._wire.end(exchange, str(got.status), await got.read())
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            self._wire.end(exchange, type(error).__name__)
        return True  # nobody tries again
