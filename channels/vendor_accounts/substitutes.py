"""Which accounts can replace one whose breaker is open, for the mail to the operators."""

from dataclasses import dataclass

from channels.models import ProviderAccount
from channels.vendor_accounts import error_texts, registry


@dataclass(frozen=True, slots=True)
class Substitutes:
    full: list[str]  # titles of accounts that carry everything it carries
    partial: list[str]  # of those that carry some of it, or serve only some phones or people


def find_substitutes(name: str) -> Substitutes:
    """Among the accounts that are enabled and whose breaker is closed."""
    live = registry.live_providers()
    own, rows = live[name], {row.name: row for row in ProviderAccount.objects.all()}
    substitutes = Substitutes([], [])
    for other, provider in live.items():
        row = rows.get(other)
        is_available = row is None or (row.is_enabled and row.open_until is None)
        shared = own.capabilities.contents & provider.capabilities.contents
        if other == name or provider.channel != own.channel or not (is_available and shared):
            continue
        is_full = shared == own.capabilities.contents and not (
            provider.capabilities.needs_contact or (row is not None and row.prefixes)
        )
        titles = substitutes.full if is_full else substitutes.partial
        titles.append(str(error_texts.provider_title(other)))
    return substitutes
