"""The `doctor` checks vendors' accounts."""

import threading
from collections.abc import Callable

import pytest
import responses
from django.db import connection
from pytest_django import Settings

from channels.providers.inbound import AccountAlert, AlertKind
from channels.vendor_accounts import registry, vendor_alerts
from operator_admin import doctor
from operator_admin.alerts.conditions import account_broken
from operator_admin.doctor import vendors
from operator_admin.doctor.finding import Finding
from tests.channels.accounts import set_account
from tests.factories import CompanyFactory

pytestmark = pytest.mark.usefixtures("english")


def test_no_provider_fails_the_check(settings: Settings) -> None:
    for name in ("whatsapp_cloud", "telegram_gateway", "telegram_bot", "max_bot"):
        set_account(settings, name, {"token": ""})
    set_account(settings, "twilio", {"auth_token": ""})

    assert [check.name for check in doctor.run(vendors.providers)] == ["providers"]


@pytest.mark.django_db
def test_provider_that_refuses_its_token_fails_the_check(settings: Settings) -> None:
    with responses.RequestsMock() as wire:
        wire.get(
            f"{settings.PROVIDER_ACCOUNTS['twilio']['api_url']}/2010-04-01/Accounts/"
            f"{settings.PROVIDER_ACCOUNTS['twilio']['account_sid']}.json",
            json={"code": 20003, "message": "Authenticate"},
            status=401,
        )
        (result,) = [provider for provider in _providers() if provider.name == "Twilio"]

    assert not result.ok
    assert result.detail == "20003: Authenticate"
    assert result.remedy == str(vendors.CREDENTIALS_REMEDY)


TWILIO = "/2010-04-01/Accounts"


@pytest.mark.django_db
def test_missing_setup_of_an_account_fails_with_its_remedy(settings: Settings) -> None:
    CompanyFactory.create(country="KZ")
    CompanyFactory.create(country="RU", status="pending")
    url = settings.PROVIDER_ACCOUNTS["twilio"]["api_url"]
    sid = settings.PROVIDER_ACCOUNTS["twilio"]["account_sid"]
    account = f"{url}{TWILIO}/{sid}"
    with responses.RequestsMock(assert_all_requests_are_fired=False) as wire:
        wire.get(f"{account}.json", json={"sid": sid, "status": "active", "type": "Trial"})
        wire.get(f"{account}/Balance.json", json={"balance": "3.10", "currency": "USD"})
        wire.get(f"{account}/IncomingPhoneNumbers.json", json={"incoming_phone_numbers": []})
        forbidden = {"permissions": [{"country_code": "KZ", "enabled": False}]}
        wire.get(f"{url}/v1/Messaging/GeoPermissions", json=forbidden)
        result = {
            provider.name: provider
            for provider in _providers()
            if provider.name.startswith("Twilio")
        }

        asked = [url for call in wire.calls if "GeoPermissions" in (url := str(call.request.url))]

    assert [check.ok for check in result.values()] == [True, False, False, False]
    assert set(result) == {
        "Twilio",
        "Twilio: the account is not a trial one",
        "Twilio: the sender",
        "Twilio: the countries it may send to",
    }
    geo = result["Twilio: the countries it may send to"]
    assert (geo.detail, "Geo permissions" in geo.remedy) == ("KZ", True)
    assert asked == [
        f"{settings.PROVIDER_ACCOUNTS['twilio']['api_url']}/v1/Messaging/GeoPermissions?CountryCode=KZ"
    ]


@pytest.mark.django_db
def test_unknown_balance_is_taken_from_the_last_alert(settings: Settings) -> None:
    url = f"{settings.PROVIDER_ACCOUNTS['telegram_gateway']['api_url']}/checkVerificationStatus"
    name = "Telegram Gateway: the balance"
    with responses.RequestsMock(assert_all_requests_are_fired=False) as wire:
        wire.post(url, json={"ok": False, "error": "REQUEST_ID_INVALID"})
        before = {provider.name: provider for provider in _providers()}
        vendor_alerts.record(
            "telegram_gateway", AccountAlert("balance_low", "< 5", AlertKind.WARNING)
        )
        after = {provider.name: provider for provider in _providers()}

    assert name not in before
    assert "does not tell: the balance" in before["Telegram Gateway"].detail
    assert after[name].detail.startswith("< 5, ")
    assert "gateway.telegram.org" in after[name].remedy


@pytest.mark.django_db
@pytest.mark.parametrize("examine", [vendors.providers, lambda: [*account_broken()]])
def test_dropped_subscription_is_renewed_by_doctor_and_alerts(
    settings: Settings, examine: Callable[[], list[object]]
) -> None:
    url = settings.PROVIDER_ACCOUNTS["max_bot"]["api_url"]
    subscribed = {"url": f"{settings.PUBLIC_URL}/hooks/max-bot", "update_types": None}
    with responses.RequestsMock(assert_all_requests_are_fired=False) as wire:
        wire.get(f"{url}/me", json={"user_id": 1, "username": "simulator_bot"})
        wire.get(f"{url}/subscriptions", json={"subscriptions": []})
        renewal = wire.post(f"{url}/subscriptions", json={"success": True})
        wire.get(f"{url}/subscriptions", json={"subscriptions": [subscribed]})
        result = examine()

    assert renewal.call_count == 1
    assert "MAX Bot: the webhook's address" not in str(result)


@pytest.mark.django_db
def test_connection_test_renews_nothing(settings: Settings) -> None:
    url = settings.PROVIDER_ACCOUNTS["max_bot"]["api_url"]
    account = {"max_bot": registry.live_providers()["max_bot"]}
    with responses.RequestsMock() as wire:
        wire.get(f"{url}/me", json={"user_id": 1, "username": "simulator_bot"})
        wire.get(f"{url}/subscriptions", json={"subscriptions": []})
        (checks,) = vendors.check_accounts(account).values()

    assert [check.topic for check in checks if check.ok is False] == ["webhook_address"]


@pytest.mark.django_db
def test_unavailable_provider_fails_the_check() -> None:
    providers = _providers()

    assert {check.remedy for check in providers} == {str(vendors.VENDOR_AWAY_REMEDY)}


def _providers() -> list[Finding]:
    """Returns the findings on the tests' accounts, at whose addresses nobody listens."""
    return vendors.providers()


@pytest.mark.django_db(transaction=True)
def test_vendor_check_uses_no_database_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept: list[bool] = []

    def ask() -> None:
        vendors.providers()
        kept.append(connection.connection is not None)

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    monkeypatch.setattr(vendors, "Company", None)
    monkeypatch.setattr(vendors, "DatabaseError", AttributeError)

    providers = vendors.providers()

    assert kept == [False]
    assert {check.remedy for check in providers} == {str(vendors.VENDOR_AWAY_REMEDY)}
