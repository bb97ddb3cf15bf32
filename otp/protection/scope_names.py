"""How a scope is called to people: +7 916 123-45-••, Russia, one IP address."""

from django.utils.translation import get_language
from django.utils.translation import gettext as _

from accounts.people import countries
from channels.guard.scopes import CUTS
from otp.models import ScopeKind

_HIDDEN = {kind.value: digits for kind, digits in CUTS}


def scope_name(kind: str, value: str) -> str:
    """In the active language. Addresses and devices are kept as hashes, so they have no name."""
    if kind in _HIDDEN:
        return value + "•" * _HIDDEN[kind]
    if kind == ScopeKind.COUNTRY:
        return countries.names(get_language() or "ru").get(value, value)
    if kind == ScopeKind.IP:
        return _("one IP address")
    return _("one device")
