"""Which channel a message goes by: the one that was named, or the company's first that can."""

from django.conf import settings

from accounts.keys.api_keys import Fallback
from channels.providers.base import Channel, Content
from channels.vendor_accounts import availability, registry
from config.errors import DomainError, Error

PREFERENCE = [Channel.WHATSAPP, Channel.TELEGRAM, Channel.SMS]

CHANNEL_NAMES = {
    Channel.WHATSAPP: ("WhatsApp", "WhatsApp"),
    Channel.TELEGRAM: ("Telegram", "Telegram"),
    Channel.SMS: ("SMS", "SMS"),
}


def choose_channel(
    *,
    named: str | None,
    default: str,
    content: Content,
    mode: str,
    phone: str = "",
    fallback: Fallback | None = None,
) -> Channel:
    """The channel, refused before anything is spent when none can carry this content now."""
    if named is not None:
        return _require_account(Channel(named), content, mode, phone)
    for channel in channel_order(default, fallback):
        if availability.has_account(channel, content, mode, phone):
            return channel
    raise DomainError(Error.CHANNEL_UNAVAILABLE)


def channel_order(default: str, fallback: Fallback | None = None) -> list[Channel]:
    """The company's order: its default first, then its chain, then the usual preference."""
    chain = fallback.chain if fallback else ()
    found = dict.fromkeys((default, *chain, *PREFERENCE))
    return [Channel(one) for one in found if one]


def channels_after(channel: Channel, fallback: Fallback) -> list[Channel]:
    """What the chain has after this channel, or all of it where it is no part of it."""
    names = list(fallback.chain)
    if channel.value in names:
        del names[: names.index(channel.value) + 1]
    return [Channel(one) for one in names]


def fallback_channels(
    channel: Channel, fallback: Fallback, content: Content, mode: str
) -> list[Channel]:
    """Of these, such as can carry the content and cost no more than the company allows."""
    return [
        one
        for one in channels_after(channel, fallback)
        if registry.carries(one, content, mode) and _is_affordable(one, fallback)
    ]


def _is_affordable(channel: Channel, fallback: Fallback) -> bool:
    """By the price of a live message, so that a test key shows what a live one would do."""
    price: int = settings.PRICES[channel.value]
    return fallback.max_cost is None or price <= fallback.max_cost


def patience(fallback: Fallback | None, channel: Channel, kind: str) -> float:
    """Seconds that a channel has to prove a delivery before the next one is tried."""
    own = fallback.patience.get(channel.value) if fallback else None
    return float(own or settings.FALLBACK_PATIENCE[kind])


def _require_account(channel: Channel, content: Content, mode: str, phone: str) -> Channel:
    if availability.has_account(channel, content, mode, phone):
        return channel
    is_able = registry.carries(channel, content, mode)
    if not is_able and registry.carries(channel, Content.CODE, mode):
        raise DomainError(Error.LINK_NOT_SUPPORTED)
    raise DomainError(Error.CHANNEL_UNAVAILABLE)
