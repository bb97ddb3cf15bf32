"""Credentials of vendors in the database: encrypted, alongside the environment, used at once."""

import json
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from pytest_django import Settings
from structlog.testing import capture_logs

from accounts.models import AuditEvent, User
from accounts.sign_in import mfa
from channels.models import ProviderAccount
from channels.providers.declaration import Vendor
from channels.providers.vendors import VENDORS
from channels.vendor_accounts import availability, registry, stored_credentials
from tests.factories import UserFactory
from tests.sql import execute

pytestmark = pytest.mark.django_db
TOKEN = "s3cret-token-of-smsc"
SMSC = {"login": "kvitok", "password": TOKEN, "sender": "KVITOK", "callback_secret": "word"}


@pytest.fixture
def user() -> User:
    row: User = UserFactory.create()
    return row


def save(user: User, name: str = "smsc", **values: str) -> list[str]:
    return stored_credentials.save(name=name, values=SMSC | values, user=user, ip="192.0.2.1")


def stored_text() -> str:
    text: str = execute(
        "SELECT string_agg(account::text, '') FROM channels_provideraccount account"
    )[0][0]
    return text


def account(name: str) -> Any:
    return registry.live_providers().get(name)


@pytest.mark.parametrize("vendor", [vendor for vendor in VENDORS.values() if vendor.fields])
def test_required_option_is_entered(vendor: Vendor) -> None:
    assert vendor.required in {field.name for field in vendor.fields if field.is_required}
    assert len(vendor.fields) <= 10
    assert not any(field.is_secret and field.is_ours for field in vendor.fields)


def test_account_is_in_use_after_the_next_snapshot(user: User) -> None:
    assert account("smsc") is None

    save(user)
    assert account("smsc") is None
    availability.refresh()

    assert account("smsc").name == "smsc"
    assert ("live", "sms", "code") in registry.routes_by_key()
    assert "smsc" in {route.provider for route in registry.routes()}


def test_nothing_secret_is_stored_or_recorded_in_clear(user: User) -> None:
    save(user)

    assert TOKEN not in stored_text()
    assert ProviderAccount.objects.get(name="smsc").credentials.startswith("fernet:")
    event = AuditEvent.objects.get(action="account.connected")
    assert TOKEN not in str(event.__dict__)
    assert "smsc: callback_secret, login, password, sender" in event.subject


def test_empty_secret_is_kept_and_other_fields_are_cleared(user: User) -> None:
    save(user)

    changed = save(user, password="", sender="")

    assert changed == ["sender"]
    row = ProviderAccount.objects.get(name="smsc")
    kept = stored_credentials.decode(row.credentials)
    assert kept == {"login": "kvitok", "password": TOKEN, "callback_secret": "word"}
    assert stored_credentials.public_options("smsc") == {
        "login": "kvitok",
        "callback_secret": "word",
    }


def test_same_values_again_change_nothing(user: User) -> None:
    save(user)
    before = stored_text()

    assert save(user, password="") == []
    assert stored_text() == before


def test_account_of_the_environment_precedes_the_stored_one(user: User, settings: Settings) -> None:
    first = account("twilio")
    values = {"account_sid": "ACother", "auth_token": "other", "sender": "+15550000000"}

    stored_credentials.save(name="twilio", values=values, user=user, ip="192.0.2.1")
    stored_credentials.save(name="twilio:kz", values=values, user=user, ip="192.0.2.1")
    availability.refresh()

    assert account("twilio") is first
    assert account("twilio:kz") is not None
    assert registry.hook_url("twilio:kz").endswith("/hooks/twilio/kz")
    assert registry.account_at("twilio", "kz") == "twilio:kz"


def test_change_replaces_only_that_account(user: User) -> None:
    save(user)
    availability.refresh()
    twilio = account("twilio")
    smsc = account("smsc")

    save(user, password="new")
    availability.refresh()

    assert account("twilio") is twilio
    assert account("smsc") is not smsc


def test_credentials_of_a_lost_key_stop_no_other_account(user: User, settings: Settings) -> None:
    save(user)
    settings.MFA_KEYS = {"new": b"x" * 32}

    with capture_logs() as lines:
        availability.refresh()

    assert account("smsc") is None
    assert account("twilio") is not None
    assert [line["event"] for line in lines] == ["credentials_unreadable"]
    assert TOKEN not in json.dumps(lines, default=str)


def test_rotation_moves_them_to_the_new_key(user: User, settings: Settings) -> None:
    old = settings.MFA_KEYS
    save(user)
    settings.MFA_KEYS = {"new": b"x" * 32, **old}

    assert stored_credentials.rotate() == {next(iter(old)): 1}
    assert stored_credentials.secrets_by_key() == {"new": 1}

    settings.MFA_KEYS = {"new": b"x" * 32}
    availability.refresh()
    assert account("smsc") is not None


def test_account_is_removed_only_when_it_is_off(user: User) -> None:
    save(user)
    availability.refresh()
    assert not stored_credentials.remove(name="smsc", user=user, ip="192.0.2.1")

    ProviderAccount.objects.update(is_enabled=False)
    assert stored_credentials.remove(name="smsc", user=user, ip="192.0.2.1")
    availability.refresh()

    assert account("smsc") is None
    assert not stored_credentials.has_stored("smsc")
    assert AuditEvent.objects.filter(action="account.disconnected", subject="smsc").exists()


def test_text_of_another_purpose_cannot_be_decrypted(user: User) -> None:
    text = stored_credentials.TEXTS.encrypt("x")

    with pytest.raises(ImproperlyConfigured, match="MFA_KEYS has another secret"):
        mfa.decrypt(text)
