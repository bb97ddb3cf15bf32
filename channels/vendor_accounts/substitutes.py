"""Who carries the messages of an account while it is left alone, as the letter about it says."""

from dataclasses import dataclass

from channels.models import ProviderAccount
from channels.vendor_accounts import error_texts, registry


@dataclass(frozen=True, slots=True)
class Substitutes:
    whole: list[str]  # titles of accounts that carry all that it carries
    part: list[str]  # of those that carry some of it, or serve some of the phones or people


def find_substitutes(name: str) -> Substitutes:
    """Of the accounts that are switched on and whose breaker is closed."""
    live = registry.live_providers()
    mine, rows = live[name], {one.name: one for one in ProviderAccount.objects.all()}
    found = Substitutes([], [])
    for other, provider in live.items():
        row = rows.get(other)
        is_taking = row is None or (row.is_enabled and row.open_until is None)
        shared = mine.capabilities.contents & provider.capabilities.contents
        if other == name or provider.channel != mine.channel or not (is_taking and shared):
            continue
        is_whole = shared == mine.capabilities.contents and not (
            provider.capabilities.needs_contact or (row is not None and row.prefixes)
        )
        titles = found.whole if is_whole else found.part
        titles.append(str(error_texts.provider_title(other)))
    return found
