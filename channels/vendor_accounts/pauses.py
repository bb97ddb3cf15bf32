"""Pauses accounts and channels by hand: the claim reads the rows, every process within a second.

A paused account is sent nothing. Waiting messages take another account of its channel, or the
company's next channel after the timeout, or fail at their deadline free of charge.
"""

from django.conf import settings
from django.db import transaction

from accounts import audit
from accounts.models import User
from catalogue.channels import Channel
from channels.models import ProviderAccount
from channels.providers.vendors import VENDORS, vendor_of
from channels.vendor_accounts import registry


@transaction.atomic
def pause_account(*, name: str, reason: str, user: User, ip: str | None) -> bool:
    """Pauses the account; False if it is paused already. It stays so if its channel is resumed."""
    ensure_rows()
    paused = ProviderAccount.objects.filter(name=name, is_enabled=True).update(
        is_enabled=False, pause_reason=reason, is_paused_with_channel=False
    )
    if paused:
        _record("account.disabled", f"{name}: {reason}", user, ip)
    return bool(paused)


@transaction.atomic
def resume_account(*, name: str, user: User, ip: str | None) -> bool:
    resumed = ProviderAccount.objects.filter(name=name, is_enabled=False).update(
        is_enabled=True, pause_reason="", is_paused_with_channel=False
    )
    if resumed:
        _record("account.enabled", name, user, ip)
    return bool(resumed)


@transaction.atomic
def pause_channel(*, channel: Channel, reason: str, user: User, ip: str | None) -> int:
    """Pauses the channel's accounts that are in use; returns how many."""
    ensure_rows()
    paused = ProviderAccount.objects.filter(
        name__in=accounts_of(channel.name), is_enabled=True
    ).update(is_enabled=False, pause_reason=reason, is_paused_with_channel=True)
    if paused:
        _record("channel.paused", f"{channel.name}: {reason}", user, ip)
    return paused


@transaction.atomic
def resume_channel(*, channel: Channel, user: User, ip: str | None) -> int:
    """Resumes only the accounts that were paused with their channel."""
    resumed = ProviderAccount.objects.filter(
        name__in=accounts_of(channel.name), is_paused_with_channel=True
    ).update(is_enabled=True, pause_reason="", is_paused_with_channel=False)
    if resumed:
        _record("channel.resumed", channel.name, user, ip)
    return resumed


def accounts_of(channel: str) -> list[str]:
    live = registry.live_providers()
    return [name for name, provider in live.items() if provider.channel == channel]


def ensure_rows() -> None:
    """Inserts missing rows with the defaults, under which accounts also work without a row."""
    ProviderAccount.objects.bulk_create(_account_rows(), ignore_conflicts=True)


def ensure_limits() -> None:
    """Inserts rows with the rate limits stated by vendors; operators change them.

    The simulator states none: a row with a limit doubles the cost of every claim.
    """
    limited = [row for row in _account_rows() if row.max_per_second and not settings.SIMULATOR_URL]
    ProviderAccount.objects.bulk_create(limited, ignore_conflicts=True)


def _account_rows() -> list[ProviderAccount]:
    return [
        ProviderAccount(
            name=name,
            position=registry.position(name),
            max_per_second=VENDORS[vendor_of(name)].max_per_second,
        )
        for name in registry.live_providers()
    ]


def _record(action: str, subject: str, user: User, ip: str | None) -> None:
    audit.record(action, subject, company=None, user=user, ip=ip)
