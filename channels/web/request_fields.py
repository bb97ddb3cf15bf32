"""Parses the request fields that all sends share."""

from accounts.api.request_fields import Fields
from accounts.keys.api_keys import Principal
from channels import phone_numbers
from config.channels import BY_NAME

CHANNELS = list(BY_NAME)
LOCALES = ["ru", "en"]


def phone_field(text: str | None, principal: Principal) -> str:
    """Call after `Fields.check`, which reports a missing phone along with the other errors."""
    return phone_numbers.normalise(text or "", principal.country)


def channel_field(fields: Fields) -> str | None:
    return fields.choice("channel", CHANNELS)


def locale_field(fields: Fields, principal: Principal) -> str:
    return fields.choice("locale", LOCALES) or principal.language
