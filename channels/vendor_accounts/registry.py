"""Builds the list of all provider accounts.

Accounts come from the environment, and from options that operators entered (`stored_credentials`).
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from typing import Any, cast
from uuid import UUID

from django.conf import settings

from catalogue.channels import CHANNELS, Channel
from catalogue.languages import message_languages
from channels.providers.base import Content, HostedProvider, Provider
from channels.providers.declaration import SetupStep, Snippet, Vendor
from channels.providers.http import HttpProvider
from channels.providers.scripted import ScriptedProvider
from channels.providers.vendors import VENDORS, vendor_of
from processes.process_state import Once, on_reset

POSITION_STEP = 10  # leaves room for the operator to move an account between two others
_stored: dict[str, Mapping[str, str]] = {}
# The accounts by name, with the options that they were built from.
_instances: dict[str, tuple[dict[str, Any], Provider]] = {}


def hook_url(provider: str) -> str:
    vendor, _, account = provider.partition(":")
    path = f"{VENDORS[vendor].hook}/{account}".rstrip("/")
    return f"{settings.PUBLIC_URL}/hooks/{path}"


def setup_steps(name: str) -> list[SetupStep]:
    """The setup steps of an account, configured or not."""
    vendor = VENDORS[vendor_of(name)]
    values = {"hook_url": hook_url(name), "short_url": settings.SHORT_URL}
    values |= settings.PROVIDER_ACCOUNTS[vendor.name]

    def filled(copies: Iterable[Snippet]) -> tuple[Snippet, ...]:
        return tuple(Snippet(snippet.label, snippet.text.format(**values)) for snippet in copies)

    return [replace(step, copies=filled(step.copies)) for step in vendor.steps]


@Once
def live_providers() -> dict[str, Provider]:
    """Configured accounts by name, in the default order of preference.

    A vendor's first account has the vendor's name, further accounts are `vendor:account`. Built
    once: accounts hold connections, and the SMPP account that was started must be the one that
    sends.
    """
    return {
        name: _instance(name, vendor, options)
        for vendor in VENDORS.values()
        for name, options in (_of_environment(vendor) | _of_operators(vendor)).items()
    }


def is_in_environment(name: str) -> bool:
    """Whether the environment configures the account, which overrides what operators entered."""
    return name in _of_environment(VENDORS[vendor_of(name)])


def _of_environment(vendor: Vendor) -> dict[str, Mapping[str, Any]]:
    return {
        name: options
        for name, options in settings.PROVIDER_ACCOUNTS.items()
        if vendor_of(name) == vendor.name and options[vendor.required]
    }


def _of_operators(vendor: Vendor) -> dict[str, Mapping[str, Any]]:
    """The accounts that operators entered, with their options.

    Options that operators do not enter come from the vendor's first account.
    """
    defaults = {field.name: field.default for field in vendor.fields}
    return {
        name: {**settings.PROVIDER_ACCOUNTS[vendor.name], **defaults, **options}
        for name, options in sorted(_stored.items())
        if vendor_of(name) == vendor.name and options.get(vendor.required)
        if not is_in_environment(name)
    }


def use_stored(options: Mapping[str, Mapping[str, str]]) -> None:
    """Replaces the accounts of operators.

    Accounts with unchanged options keep their connections: a send in progress ends with the account
    that it began with.
    """
    _stored.clear()
    _stored.update(options)
    _clear_lists()


def _instance(name: str, vendor: Vendor, options: Mapping[str, Any]) -> Provider:
    instance = _instances.get(name)
    if instance is None or instance[0] != dict(options):
        instance = _instances[name] = (dict(options), _build(name, vendor, options))
    return instance[1]


def provider_class(vendor: Vendor) -> type[Provider]:
    module = import_module(f"channels.providers.{vendor.folder}.provider")
    return cast(type[Provider], getattr(module, vendor.class_name))


def _build(name: str, vendor: Vendor, options: Mapping[str, Any]) -> Provider:
    callback = {"callback_url": hook_url(name)} if vendor.takes_callback_url else {}
    arguments = {option: value for option, value in options.items() if option != "proxy"}
    make = cast(Callable[..., Provider], provider_class(vendor))
    provider = make(**arguments, **callback, timeout=settings.PROVIDER_TIMEOUT)
    provider.name = name
    if isinstance(provider, HttpProvider):
        provider.use_proxy(options.get("proxy", ""))
    return provider


def account_at(hook: str, account: str) -> str | None:
    """The name of the configured account whose webhook is /hooks/<hook>/<account>."""
    for vendor in VENDORS.values():
        name = f"{vendor.name}:{account}" if account else vendor.name
        if vendor.hook == hook and name in live_providers():
            return name
    return None


@cache
def test_providers() -> dict[str, Provider]:
    """Scripted providers that test keys send through, one per channel."""
    return {
        f"test_{channel.name}": ScriptedProvider(channel.name, channel.contents)
        for channel in CHANNELS
    }


@cache
def provider(name: str) -> Provider:
    return live_providers().get(name) or test_providers()[name]


@cache
def hosted_providers() -> dict[str, HostedProvider]:
    """Accounts that run in their own processes, by name."""
    return {
        name: account
        for name, account in live_providers().items()
        if isinstance(account, HostedProvider)
    }


def accounts_called_by(host: HostedProvider | None) -> Collection[str]:
    """The accounts a process may call: the one it hosts, else all that are not hosted."""
    if host is not None:
        return [host.name]
    return (live_providers() | test_providers()).keys() - hosted_providers().keys()


def is_pollable(name: str) -> bool:
    """Whether the account can be polled; False also if it is no longer configured."""
    providers = live_providers() | test_providers()
    return name in providers and providers[name].capabilities.pollable


def clicks_prove(name: str) -> bool:
    """Whether a click on the link proves delivery by this account; the operator may deny it."""
    account = (live_providers() | test_providers()).get(name)
    return account is None or account.capabilities.clicks_prove


def provider_id_of(name: str, message_id: UUID, phone: str) -> str | None:
    """The provider id if we choose it; None otherwise, and for accounts no longer configured."""
    account = (live_providers() | test_providers()).get(name)
    return account.provider_id_of(str(message_id), phone) if account else None


def pollable() -> list[str]:
    return [name for name in live_providers() | test_providers() if is_pollable(name)]


def wanting_entered_codes() -> list[str]:
    """The accounts whose vendors ask for reports of entered codes."""
    providers = live_providers().items()
    return [name for name, account in providers if account.capabilities.wants_entered_codes]


@dataclass(frozen=True, slots=True)
class Route:
    mode: str
    channel: str
    content: str
    provider: str
    needs_contact: bool
    position: int = 0  # unless the operator sets another
    # All accounts for this need a contact: they are then tried without one, too.
    is_sole: bool = True


RouteKey = tuple[str, str, str]  # mode, channel, content


def position(provider: str) -> int:
    """The default position of an account."""
    return POSITION_STEP * list(live_providers()).index(provider)


@cache
def routes_by_key() -> dict[RouteKey, list[Route]]:
    """The accounts that can carry each (mode, channel, content)."""
    routes: dict[RouteKey, list[Route]] = {}
    for mode, providers in (("live", live_providers()), ("test", test_providers())):
        for position, (name, account) in enumerate(providers.items()):
            for content in account.capabilities.contents:
                key = (mode, account.channel, content.value)
                route = Route(
                    *key, name, account.capabilities.needs_contact, POSITION_STEP * position
                )
                routes.setdefault(key, []).append(route)
    return {
        key: [
            replace(route, is_sole=all(other.needs_contact for other in group)) for route in group
        ]
        for key, group in routes.items()
    }


@cache
def routes() -> tuple[Route, ...]:
    return tuple(route for group in routes_by_key().values() for route in group)


def carries(channel: Channel, content: Content, mode: str) -> bool:
    return (mode, channel.name, content.value) in routes_by_key()


def codes_go_by_gateway() -> bool:
    """Whether Telegram Gateway carries plain codes; the bot carries codes with a link."""
    gateway = ("live", Content.CODE, "telegram_gateway")
    return any((route.mode, route.content, route.provider) == gateway for route in routes())


def needs_contact(channel: str) -> bool:
    """Whether some account of the channel reaches only people who let it write to them."""
    return any(
        account.channel == channel and account.capabilities.needs_contact
        for account in live_providers().values()
    )


def language_on(channel: Channel, language: str) -> str:
    """The language in which the channel's first account would word a message of this language."""
    accounts = (row for row in live_providers().values() if row.channel == channel.name)
    locales = [account.locale_for(language, language) for account in accounts]
    return message_languages.match(locales[0], language) if locales else language


@on_reset
def clear_caches() -> None:
    """Rereads the settings on next use; used also by tests that configure providers."""
    _stored.clear()
    _instances.clear()
    _clear_lists()
    test_providers.cache_clear()


def _clear_lists() -> None:
    for cached in (live_providers, hosted_providers, provider, routes_by_key, routes):
        cached.cache_clear()
