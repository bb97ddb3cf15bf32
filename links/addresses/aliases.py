"""Aliases: slugs that people choose. None reads as a page of the service, in any spelling."""

import re

from django.utils.translation import gettext_lazy as _

from catalogue.errors import invalid_input
from links.addresses.reserved_names import is_reserved_alias

SHAPE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{1,62}[A-Za-z0-9]")
_CODE = re.compile(r"[0-9]{4,8}")

_SHAPE_WORDS = _(
    "3–64 characters: Latin letters, digits, hyphens and underscores; "
    "the first and the last one a letter or a digit"
)
_CODE_WORDS = _("A name of 4–8 digits reads as a code; add a letter")
_RESERVED_WORDS = _("This name is reserved; choose another")


def check(alias: object) -> str:
    """The lookup key of a valid alias; raises a DomainError. The alias is stored as typed."""
    if not isinstance(alias, str) or not SHAPE.fullmatch(alias):
        raise invalid_input(alias=_SHAPE_WORDS)
    if _CODE.fullmatch(alias):
        raise invalid_input(alias=_CODE_WORDS)
    if is_reserved_alias(alias):
        raise invalid_input(alias=_RESERVED_WORDS)
    return alias.lower()
