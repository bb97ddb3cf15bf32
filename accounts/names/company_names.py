"""Validates company names, which e-mails show to people who did not ask for them."""

import re

import phonenumbers
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from accounts.names import brand_names
from config.input.characters import as_seen

# Endings that mail programs turn into links; other dotted names, as "Dr.Web", are fine.
_GENERIC = (
    "app biz bot click club com dev edu eu fun gov help info int link live mil mobi name net news "
    "online ooo org page pro shop site space store su tech top uk website win world xyz zone "
    "рф рус бел қаз укр онлайн сайт орг ком москва дети"
)
_ENDS = {region.lower() for region in phonenumbers.SUPPORTED_REGIONS} | set(_GENERIC.split())
_DOTTED = re.compile(r"[\w-][.。．｡]((?:xn--)?[\w-]+)", re.IGNORECASE)
_IP_ADDRESS = re.compile(r"\d+(?:\.\d+){3}")


def validate(name: str) -> None:
    if not brand_names.is_valid(name) or _contains_site_address(name):
        raise ValidationError(
            _(
                "A name is one line without a web address, an e-mail address or a phone "
                "number: “Daisy”, not “daisy.com”."
            ),
            code="company_name",
        )


def cannot_become_a_link(name: str) -> bool:
    """Whether no mail program can turn the name into a link or a phone call."""
    dotted = any(len(end) > 1 for end in _DOTTED.findall(as_seen(name)))
    return brand_names.is_valid(name) and not dotted


def _contains_site_address(name: str) -> bool:
    plain = as_seen(name)
    ends = (end.lower() for end in _DOTTED.findall(plain))
    is_known = any(end in _ENDS or end.startswith("xn--") for end in ends)
    return is_known or bool(_IP_ADDRESS.search(plain))
