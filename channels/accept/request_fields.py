"""The request fields that every send has."""

from accounts.api.request_fields import Fields
from accounts.keys.api_keys import Principal
from channels import phone_numbers
from channels.providers.base import Channel

CHANNELS = [channel.value for channel in Channel]
LOCALES = ["ru", "en"]


def phone_field(text: str | None, principal: Principal) -> str:
    """After `Fields.check`, so that a missing phone has been named with the other faults."""
    return phone_numbers.normalise(text or "", principal.country)


def channel_field(fields: Fields) -> str | None:
    return fields.choice("channel", CHANNELS)


def locale_field(fields: Fields, principal: Principal) -> str:
    return fields.choice("locale", LOCALES) or principal.language
