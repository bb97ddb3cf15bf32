"""Chooses a message's channel: the one the request names, or the policy's first that can."""

from collections.abc import Sequence

from accounts.keys.api_keys import Fallback
from billing import message_prices
from channels.providers.base import Content
from channels.vendor_accounts import availability, registry
from config.channels import BY_NAME, Channel
from config.errors import DomainError, Error

NO_PATIENCE = 60.0  # seconds; of the last step, after which nothing follows


def choose_channel(
    *, named: str | None, order: Sequence[Channel], content: Content, mode: str, phone: str = ""
) -> Channel:
    """Raises before anything is spent if no channel can carry this content now."""
    if named is not None:
        return _require_account(BY_NAME[named], content, mode, phone)
    for channel in order:
        if availability.has_account(channel, content, mode, phone):
            return channel
    raise DomainError(Error.CHANNEL_UNAVAILABLE)


def channel_order(default: str, fallback: Fallback | None = None) -> list[Channel]:
    """The company's default first, then its fallback chain, then the declared order."""
    chain = fallback.chain if fallback else ()
    names = dict.fromkeys((default, *chain, *BY_NAME))
    return [BY_NAME[name] for name in names if name in BY_NAME]


def channels_after(channel: Channel, fallback: Fallback) -> list[Channel]:
    """The rest of the chain after this channel; the whole chain if the channel is not in it."""
    names = list(fallback.chain)
    if channel.name in names:
        del names[: names.index(channel.name) + 1]
    return [BY_NAME[name] for name in names if name in BY_NAME]


def fallback_channels(
    channel: Channel, fallback: Fallback, content: Content, mode: str, country: str = ""
) -> list[Channel]:
    """The next channels that can carry the content within the company's maximum cost."""
    return [
        following
        for following in channels_after(channel, fallback)
        if registry.carries(following, content, mode)
        and costs_at_most(following, fallback.max_cost, country)
    ]


def costs_at_most(channel: Channel, tokens: int | None, country: str) -> bool:
    """Compares live prices in both modes, so that a test key behaves like a live one."""
    return tokens is None or message_prices.price_of(channel.name, country) <= tokens


def patience(fallback: Fallback | None, channel: Channel, kind: str) -> float:
    """Seconds a channel has to prove delivery before the next one is tried."""
    own = fallback.patience.get(channel.name) if fallback else None
    return float(own or getattr(channel.patience, kind))


def _require_account(channel: Channel, content: Content, mode: str, phone: str) -> Channel:
    if availability.has_account(channel, content, mode, phone):
        return channel
    if not registry.carries(channel, content, mode) and registry.carries(
        channel, Content.CODE, mode
    ):
        raise DomainError(Error.LINK_NOT_SUPPORTED)
    raise DomainError(Error.CHANNEL_UNAVAILABLE)
