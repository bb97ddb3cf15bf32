"""Which channel a message goes by: the one that was named, or the company's first that can."""

from channels import availability, registry
from channels.providers.base import Channel, Content
from config.errors import DomainError, Error

PREFERENCE = [Channel.WHATSAPP, Channel.TELEGRAM, Channel.SMS]

NAMES = {
    Channel.WHATSAPP: ("WhatsApp", "WhatsApp"),
    Channel.TELEGRAM: ("Telegram", "Telegram"),
    Channel.SMS: ("SMS", "SMS"),
}


def choose(
    *, named: str | None, default: str, content: Content, mode: str, phone: str = ""
) -> Channel:
    """The channel, refused before anything is spent when none can carry this content now."""
    if named is not None:
        return _require(Channel(named), content, mode, phone)
    for channel in order(default):
        if availability.has_account(channel, content, mode, phone):
            return channel
    raise DomainError(Error.CHANNEL_UNAVAILABLE)


def order(default: str) -> list[Channel]:
    """The company's order: its default first, then the usual preference."""
    return sorted(PREFERENCE, key=lambda channel: channel.value != default)


def _require(channel: Channel, content: Content, mode: str, phone: str) -> Channel:
    if availability.has_account(channel, content, mode, phone):
        return channel
    is_able = registry.carries(channel, content, mode)
    if not is_able and registry.carries(channel, Content.CODE, mode):
        raise DomainError(Error.LINK_NOT_SUPPORTED)
    raise DomainError(Error.CHANNEL_UNAVAILABLE)
