"""Several accounts of one vendor, and the operator's settings for them."""

from datetime import timedelta
from typing import Any

from django.utils import timezone
from pytest_django import Settings

from channels.models import Message, ProviderAccount
from channels.vendor_accounts import registry
from tests.factories import MessageFactory

KZ = "twilio:kz"
UZ = "twilio:uz"
PAUSE = timedelta(minutes=5)


def set_account(settings: Settings, name: str, options: dict[str, Any]) -> None:
    """Gives an account these options as well."""
    account = settings.PROVIDER_ACCOUNTS[name] | options
    settings.PROVIDER_ACCOUNTS = settings.PROVIDER_ACCOUNTS | {name: account}
    registry.clear_caches()


def name_accounts(settings: Settings, *names: str, vendor: str = "twilio") -> None:
    """Configures further accounts of a vendor, each with its own credentials."""
    first = settings.PROVIDER_ACCOUNTS[vendor]

    def own(name: str) -> dict[str, object]:
        credentials = {"account_sid": f"AC{name}", "auth_token": name, "token": name}
        return {
            **first,
            **{
                credential: credentials[credential]
                for credential in credentials
                if credential in first
            },
        }

    further = {f"{vendor}:{name}": own(name) for name in names}
    settings.PROVIDER_ACCOUNTS = settings.PROVIDER_ACCOUNTS | further
    registry.clear_caches()


def create_account(name: str, **fields: object) -> ProviderAccount:
    fields.setdefault("position", registry.position(name))
    return ProviderAccount.objects.create(name=name, **fields)


def open_breaker(name: str, *, left: timedelta = PAUSE, **fields: object) -> ProviderAccount:
    """An account with an open breaker; half-open if no time is left."""
    now = timezone.now()
    return create_account(
        name, opened_at=now - PAUSE, open_until=now + left, trips=1, reason="x", **fields
    )


def half_open_breaker(name: str, **fields: object) -> ProviderAccount:
    return open_breaker(name, left=-timedelta(seconds=1), **fields)


def sms(phone: str = "+79161234567", **fields: object) -> Message:
    return MessageFactory.create(channel="sms", phone=phone, price=16, **fields)
