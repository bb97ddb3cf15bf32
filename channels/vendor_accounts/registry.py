"""Joins settings and providers, and lower rooms with higher ones.

`live_providers` is the whole list of who can deliver what. What this room must call in a higher one
(a message's renderer, say) the higher room registers here when it starts.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol
from uuid import UUID

from django.conf import settings

from channels.providers.base import Channel, Content, Provider
from channels.providers.hosted_provider import HostedProvider
from channels.providers.scripted import ScriptedProvider
from channels.providers.smpp.provider import Smpp
from channels.providers.smsc import Smsc
from channels.providers.telegram.bot import TelegramBot
from channels.providers.telegram.gateway import TelegramGateway
from channels.providers.twilio.messaging import Twilio
from channels.providers.whatsapp.cloud_api import WhatsAppCloud

if TYPE_CHECKING:
    from channels.models import Message

POSITION_STEP = 10  # between accounts, so that the operator can put one between two


@dataclass(frozen=True, slots=True)
class Vendor:
    """One line per vendor: its class, its setting, and the path under /hooks/ where it calls us.

    Without the `needs` option an account is not configured. `is_told_hook`: each send names the
    address to call.
    """

    make: Callable[..., Provider]
    setting: str
    hook: str
    needs: str = "token"
    is_told_hook: bool = False


# The order of preference where two carry the same, until the operator sets another.
VENDORS = {
    "whatsapp_cloud": Vendor(WhatsAppCloud, "WHATSAPP", "whatsapp"),
    "telegram_gateway": Vendor(
        TelegramGateway, "TELEGRAM_GATEWAY", "telegram-gateway", is_told_hook=True
    ),
    "telegram_bot": Vendor(TelegramBot, "TELEGRAM_BOT", "telegram-bot"),
    "smpp": Vendor(Smpp, "SMPP", "", needs="host"),
    "twilio": Vendor(Twilio, "TWILIO", "twilio", needs="auth_token", is_told_hook=True),
    "smsc": Vendor(Smsc, "SMSC", "smsc", needs="password"),
}


def vendor_of(provider: str) -> str:
    """`twilio:kz` is an account with the vendor `twilio`."""
    return provider.partition(":")[0]


def hook_url(provider: str) -> str:
    vendor, _, account = provider.partition(":")
    path = f"{VENDORS[vendor].hook}/{account}".rstrip("/")
    return f"{settings.PUBLIC_URL}/hooks/{path}"


@cache
def live_providers() -> dict[str, Provider]:
    """Configured accounts by name, in the order they are tried unless the operator sets another.

    A vendor's first account has the vendor's name, the further ones are `vendor:account`.
    """
    return {
        name: _made(name, vendor, options)
        for title, vendor in VENDORS.items()
        for name, options in _accounts(title, vendor)
        if options[vendor.needs]
    }


def _accounts(name: str, vendor: Vendor) -> Iterator[tuple[str, Mapping[str, str]]]:
    yield name, getattr(settings, vendor.setting)
    for account, options in settings.FURTHER_ACCOUNTS.get(vendor.setting, {}).items():
        yield f"{name}:{account}", options


def _made(name: str, vendor: Vendor, options: Mapping[str, str]) -> Provider:
    told = {"callback_url": hook_url(name)} if vendor.is_told_hook else {}
    made = vendor.make(**options, **told, timeout=settings.PROVIDER_TIMEOUT)
    made.name = name
    return made


def account_at(hook: str, account: str) -> str | None:
    """The name of the configured account that is called at /hooks/<hook>/<account>."""
    for vendor, one in VENDORS.items():
        name = f"{vendor}:{account}" if account else vendor
        if one.hook == hook and name in live_providers():
            return name
    return None


@cache
def test_providers() -> dict[str, Provider]:
    """What test keys send by: the three channels, played."""
    return {f"test_{channel}": ScriptedProvider(channel) for channel in Channel}


@cache
def provider(name: str) -> Provider:
    return live_providers().get(name) or test_providers()[name]


@cache
def hosted() -> dict[str, HostedProvider]:
    """Accounts that live in processes of their own, each by its name."""
    return {name: one for name, one in live_providers().items() if isinstance(one, HostedProvider)}


def called_here(host: HostedProvider | None) -> Collection[str]:
    """The accounts that a process may call: the one that it hosts, or all that nobody hosts."""
    if host is not None:
        return [host.name]
    return (live_providers() | test_providers()).keys() - hosted().keys()


def is_pollable(name: str) -> bool:
    """False also for an account that is no longer configured."""
    known = live_providers() | test_providers()
    return name in known and known[name].capabilities.pollable


def clicks_prove(name: str) -> bool:
    """Whether a person's click proves that this account delivered; an operator may say no."""
    found = (live_providers() | test_providers()).get(name)
    return found is None or found.capabilities.clicks_prove


def provider_id_of(name: str, message_id: UUID, phone: str) -> str | None:
    """None also for an account that is no longer configured."""
    found = (live_providers() | test_providers()).get(name)
    return found.provider_id_of(str(message_id), phone) if found else None


def pollable() -> list[str]:
    return [name for name in live_providers() | test_providers() if is_pollable(name)]


@dataclass(frozen=True, slots=True)
class Route:
    mode: str
    channel: str
    content: str
    provider: str
    needs_contact: bool
    position: int = 0  # where the operator has set none
    is_sole: bool = True  # of its kind: what needs a contact is then tried without one


Key = tuple[str, str, str]  # mode, channel, content


def position(provider: str) -> int:
    """Where an account stands until the operator says otherwise."""
    return POSITION_STEP * list(live_providers()).index(provider)


@cache
def ways() -> dict[Key, list[Route]]:
    """For each (mode, channel, content) the accounts that carry it."""
    found: dict[Key, list[Route]] = {}
    for mode, providers in (("live", live_providers()), ("test", test_providers())):
        for position, (name, one) in enumerate(providers.items()):
            for content in one.capabilities.contents:
                key = (mode, one.channel.value, content.value)
                route = Route(*key, name, one.capabilities.needs_contact, POSITION_STEP * position)
                found.setdefault(key, []).append(route)
    return {
        key: [replace(one, is_sole=all(other.needs_contact for other in some)) for one in some]
        for key, some in found.items()
    }


@cache
def routes() -> tuple[Route, ...]:
    return tuple(route for some in ways().values() for route in some)


def carries(channel: Channel, content: Content, mode: str) -> bool:
    return (mode, channel.value, content.value) in ways()


def forget_settings() -> None:
    """Read the settings anew: for tests that configure providers."""
    for cached in (live_providers, hosted, test_providers, provider, ways, routes):
        cached.cache_clear()


@dataclass(frozen=True, slots=True)
class Rendered:
    """What the person will read, made at the last moment: a code is derived, never stored."""

    text: str
    code: str | None = None
    short_url: str | None = None


class NotRenderableError(Exception):
    """What the message was made of is no longer there."""


class Renderer(Protocol):
    """Raises NotRenderableError."""

    def __call__(
        self, *, subject_id: UUID, params: Mapping[str, Any], locale: str, channel: str
    ) -> Rendered: ...


@dataclass(frozen=True, slots=True)
class Codes:
    """Of one company and mode: codes asked for, and how many of them were entered right."""

    company_id: int
    mode: str
    codes: int
    verified: int


@dataclass(frozen=True, slots=True)
class Told:
    """Something that happened to what a message carried, worded for its page."""

    at: datetime
    title: str
    tone: str = ""
    detail: str = ""


Teller = Callable[["Message"], Iterable[Told]]

Opening = Callable[["Message"], datetime | None]

Purger = Callable[[int], int]  # removes at most so many rows; fewer: there are no more

CodeCounter = Callable[..., list[Codes]]

_renderers: dict[str, Renderer] = {}
_settlers: list[Callable[[], int]] = []
_purgers: list[Purger] = []
_code_counters: list[CodeCounter] = []
_tellers: dict[str, Teller] = {}
_openings: list[Opening] = []


def renders(kind: str, renderer: Renderer) -> None:
    _renderers[kind] = renderer


def renderer(kind: str) -> Renderer:
    return _renderers[kind]


def settles(settler: Callable[[], int]) -> None:
    """Registers what turns proofs of a higher room (a right code) into settled messages."""
    _settlers.append(settler)


def settlers() -> list[Callable[[], int]]:
    return _settlers


def purges(purger: Purger) -> None:
    """Registers what removes rows that outlived their use."""
    _purgers.append(purger)


def purgers() -> list[Purger]:
    return _purgers


def counts_codes(counter: CodeCounter) -> None:
    """Registers what tells how many codes of messages made from `start` to `end` were entered."""
    _code_counters.append(counter)


def count_codes(
    *, start: datetime, end: datetime, company_id: int | None = None, mode: str | None = None
) -> list[Codes]:
    """Of every company and mode that asked for some, or of one."""
    return [
        one
        for counter in _code_counters
        for one in counter(start=start, end=end, company_id=company_id, mode=mode)
    ]


def tells(kind: str, teller: Teller) -> None:
    """Registers what became of what a message carried."""
    _tellers[kind] = teller


def told(message: "Message") -> Iterable[Told]:
    return _tellers[message.kind](message) if message.kind in _tellers else ()


def knows_openings(opening: Opening) -> None:
    """Registers what tells when a person opened what a message carried."""
    _openings.append(opening)


def opened_at(message: "Message") -> datetime | None:
    return next(filter(None, (opening(message) for opening in _openings)), None)
