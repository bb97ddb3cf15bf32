"""The operators' e-mail about an account whose circuit breaker has opened."""

from dataclasses import dataclass

from django.urls import reverse
from django.utils import timezone

from catalogue.texts import StrOrPromise
from channels.models import ProviderAccount
from channels.vendor_accounts import error_texts, operator_mail, registry


def notify_operators(name: str, cause: StrOrPromise, reason: str) -> None:
    """Sends the e-mail at most once an hour per account."""
    substitutes = find_substitutes(name)
    context = {
        "title": error_texts.provider_title(name),
        "cause": cause,
        "reason": reason,
        "whole": ", ".join(substitutes.full),
        "part": ", ".join(substitutes.partial),
        "path": reverse("admin:providers"),
    }
    key = f"{name}:{timezone.now():%Y%m%d%H}"
    operator_mail.notify_operators(template="breaker_opened", context=context, key=key)


@dataclass(frozen=True, slots=True)
class Substitutes:
    full: list[str]  # titles of accounts that carry all of its messages
    # titles of accounts that carry some of them, or serve only some phones or people
    partial: list[str]


def find_substitutes(name: str) -> Substitutes:
    """The enabled accounts of the channel with a closed breaker, for the operators' mail."""
    live = registry.live_providers()
    account = live[name]
    rows = {row.name: row for row in ProviderAccount.objects.all()}
    substitutes = Substitutes([], [])
    for other, provider in live.items():
        row = rows.get(other)
        is_available = row is None or (row.is_enabled and row.open_until is None)
        shared = account.capabilities.contents & provider.capabilities.contents
        if other == name or provider.channel != account.channel or not (is_available and shared):
            continue
        is_full = shared == account.capabilities.contents and not (
            provider.capabilities.needs_contact or (row is not None and row.prefixes)
        )
        titles = substitutes.full if is_full else substitutes.partial
        titles.append(str(error_texts.provider_title(other)))
    return substitutes
