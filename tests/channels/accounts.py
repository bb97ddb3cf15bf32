"""Several accounts of one vendor, and rows that say what the operator set for them."""

from datetime import timedelta

from django.utils import timezone
from pytest_django import Settings

from channels.models import Message, ProviderAccount
from channels.vendor_accounts import registry
from tests.factories import MessageFactory

KZ, UZ = "twilio:kz", "twilio:uz"
LONG = timedelta(minutes=5)


def name_accounts(settings: Settings, *names: str, vendor: str = "TWILIO") -> None:
    """Further accounts of a vendor, each with credentials of its own."""
    first = getattr(settings, vendor)

    def own(name: str) -> dict[str, object]:
        credentials = {"account_sid": f"AC{name}", "auth_token": name, "token": name}
        return {**first, **{one: credentials[one] for one in credentials if one in first}}

    settings.FURTHER_ACCOUNTS = {vendor: {name: own(name) for name in names}}
    registry.clear_caches()


def set_up(name: str, **fields: object) -> ProviderAccount:
    fields.setdefault("position", registry.position(name))
    return ProviderAccount.objects.create(name=name, **fields)


def opened(name: str, *, left: timedelta = LONG, **fields: object) -> ProviderAccount:
    """Its breaker is open; half-open when no time is left."""
    now = timezone.now()
    return set_up(name, opened_at=now - LONG, open_until=now + left, trips=1, reason="x", **fields)


def half_open(name: str, **fields: object) -> ProviderAccount:
    return opened(name, left=-timedelta(seconds=1), **fields)


def sms(phone: str = "+79161234567", **fields: object) -> Message:
    return MessageFactory.create(channel="sms", phone=phone, price=16, **fields)
