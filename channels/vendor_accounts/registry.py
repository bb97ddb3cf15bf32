"""Builds the provider accounts from the settings: the whole list of who can deliver what."""

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
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
        name: _build(name, vendor, options)
        for title, vendor in VENDORS.items()
        for name, options in _accounts(title, vendor)
        if options[vendor.needs]
    }


def _accounts(name: str, vendor: Vendor) -> Iterator[tuple[str, Mapping[str, str]]]:
    yield name, getattr(settings, vendor.setting)
    for account, options in settings.FURTHER_ACCOUNTS.get(vendor.setting, {}).items():
        yield f"{name}:{account}", options


def _build(name: str, vendor: Vendor, options: Mapping[str, str]) -> Provider:
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
def hosted_providers() -> dict[str, HostedProvider]:
    """Accounts that live in processes of their own, each by its name."""
    return {name: one for name, one in live_providers().items() if isinstance(one, HostedProvider)}


def accounts_called_by(host: HostedProvider | None) -> Collection[str]:
    """The accounts that a process may call: the one that it hosts, or all that nobody hosts."""
    if host is not None:
        return [host.name]
    return (live_providers() | test_providers()).keys() - hosted_providers().keys()


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


RouteKey = tuple[str, str, str]  # mode, channel, content


def position(provider: str) -> int:
    """Where an account stands until the operator says otherwise."""
    return POSITION_STEP * list(live_providers()).index(provider)


@cache
def routes_by_key() -> dict[RouteKey, list[Route]]:
    """For each (mode, channel, content) the accounts that carry it."""
    found: dict[RouteKey, list[Route]] = {}
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
    return tuple(route for some in routes_by_key().values() for route in some)


def carries(channel: Channel, content: Content, mode: str) -> bool:
    return (mode, channel.value, content.value) in routes_by_key()


def clear_caches() -> None:
    """Read the settings anew: for tests that configure providers."""
    for cached in (
        live_providers,
        hosted_providers,
        test_providers,
        provider,
        routes_by_key,
        routes,
    ):
        cached.cache_clear()
