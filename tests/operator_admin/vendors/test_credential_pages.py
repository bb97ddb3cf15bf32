"""The admin's pages of vendors' credentials: no stored secret is shown."""

from html import unescape

import pytest
import responses
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from accounts.models import AuditEvent, User
from channels.models import ProviderAccount
from channels.vendor_accounts import availability, registry, stored_credentials
from tests.factories import AttemptFactory, UserFactory
from tests.operator_admin.operators import make_operator, sign_in

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("english_operator")]
TOKEN = "s3cret-password"
SMSC = {"login": "kvitok", "password": TOKEN, "sender": "KVITOK", "callback_secret": "word"}
TWILIO = {"account_sid": "AC2", "auth_token": TOKEN, "sender": "+15550000000"}


def post(client: Client, name: str, page: str = "vendor", **fields: str) -> str:
    url = reverse(f"admin:{page}", args=[name])
    response = client.post(url, fields, follow=True, headers={"Accept-Language": "en"})
    return unescape(response.content.decode())


def shown(client: Client, name: str) -> str:
    url = reverse("admin:vendor", args=[name])
    return unescape(client.get(url, headers={"Accept-Language": "en"}).content.decode())


def test_fresh_credentials_are_used_at_once(client: Client) -> None:
    page = post(client, "smsc", **SMSC)

    assert "test the connection now" in page
    assert "Test connection" in page
    assert TOKEN not in page
    assert "smsc" in registry.live_providers()


def test_stored_secret_is_never_shown_and_may_stay(client: Client) -> None:
    post(client, "smsc", **SMSC)

    page = shown(client, "smsc")
    assert TOKEN not in page
    assert "stored; leave empty to keep it" in page
    post(client, "smsc", **SMSC | {"password": "", "sender": "OTHER"})

    row = ProviderAccount.objects.get(name="smsc")
    kept = stored_credentials.decode(row.credentials)
    assert (kept["password"], kept["sender"]) == (TOKEN, "OTHER")


def test_credentials_of_a_lost_key_are_entered_again(client: Client, settings: Settings) -> None:
    post(client, "smsc", **SMSC)
    settings.MFA_KEYS = {"new": b"x" * 32}

    assert "leave empty to keep it" not in shown(client, "smsc")
    assert "This field is required" in post(client, "smsc", **SMSC | {"password": ""})
    assert "test the connection now" in post(client, "smsc", **SMSC)
    assert stored_credentials.options_of("smsc") == SMSC


@pytest.mark.parametrize(
    ("field", "text"),
    [("callback_secret", ""), ("password", ""), ("login", "a\x00b"), ("sender", "x" * 501)],
)
def test_bad_input_is_refused_and_nothing_stored(client: Client, field: str, text: str) -> None:
    page = post(client, "smsc", **SMSC | {field: text})

    assert "errorlist" in page
    assert not stored_credentials.has_stored("smsc")
    assert TOKEN not in page


def test_pasted_line_break_is_cut_off(client: Client) -> None:
    post(client, "smsc", **SMSC | {"password": f" {TOKEN}\n"})

    row = ProviderAccount.objects.get(name="smsc")
    assert stored_credentials.decode(row.credentials)["password"] == TOKEN


def test_account_of_the_environment_is_not_entered_here(client: Client) -> None:
    page = shown(client, "twilio")
    assert "They come from the service's environment" in page
    assert 'name="auth_token"' not in page

    response = client.post(reverse("admin:vendor", args=["twilio"]), TWILIO)

    assert response.status_code == 404
    assert not stored_credentials.has_stored("twilio")


def test_further_account_has_its_own_name_and_address(client: Client) -> None:
    page = post(client, "twilio", "vendor-add", account="kz", **TWILIO)

    assert "/hooks/twilio/kz" in page
    assert "twilio:kz" in registry.live_providers()
    again = post(client, "twilio", "vendor-add", account="kz", **TWILIO)
    assert "An account with this name already exists." in again
    for name in ("KZ", "k z", "1kz", "a" * 13, ""):
        assert "errorlist" in post(client, "twilio", "vendor-add", account=name, **TWILIO)


@pytest.mark.parametrize("name", ["smpp", "nobody", "twilio:kz", "test_sms"])
def test_only_vendors_have_further_accounts(client: Client, name: str) -> None:
    assert client.get(reverse("admin:vendor-add", args=[name])).status_code == 404


def test_entered_credentials_are_tested(client: Client, settings: Settings) -> None:
    post(client, "smsc", **SMSC)
    url = f"{settings.PROVIDER_ACCOUNTS['smsc']['api_url']}/sys/balance.php"
    with responses.RequestsMock(assert_all_requests_are_fired=False) as wire:
        wire.post(url, json={"error": "authorise error", "error_code": 2})
        wire.get(url, json={"error": "authorise error", "error_code": 2})
        page = post(client, "smsc", "vendor-test")

    assert "needs attention" in page
    assert TOKEN not in page


def test_account_is_removed_once_it_is_off(client: Client) -> None:
    post(client, "smsc", **SMSC)
    assert "Switch the account off first" in post(client, "smsc", "vendor-remove")
    ProviderAccount.objects.filter(name="smsc").update(is_enabled=False)

    page = post(client, "smsc", "vendor-remove")

    assert "The credentials are removed." in page
    assert "smsc" not in registry.live_providers()
    assert client.post(reverse("admin:vendor-remove", args=["smsc"])).status_code == 404
    assert client.get(reverse("admin:vendor-remove", args=["smsc"])).status_code == 405
    actions = AuditEvent.objects.filter(action__startswith="account.").values_list(
        "action", flat=True
    )
    assert sorted(actions) == ["account.connected", "account.disconnected"]


def test_account_that_awaits_receipts_is_not_removed(client: Client) -> None:
    post(client, "smsc", **SMSC)
    ProviderAccount.objects.filter(name="smsc").update(is_enabled=False)
    attempt = AttemptFactory.create(provider="smsc", state="ambiguous")

    assert "Messages await this account" in post(client, "smsc", "vendor-remove")
    assert "smsc" in registry.live_providers()

    type(attempt).objects.update(state="expired")
    assert "The credentials are removed." in post(client, "smsc", "vendor-remove")


def test_reader_may_look_and_change_nothing(client: Client) -> None:
    reader = UserFactory.create(is_staff=True, language="en")
    reader.user_permissions.add(Permission.objects.get(codename="view_provideraccount"))
    sign_in(client, reader, "password", "mfa")

    assert 'name="password"' not in shown(client, "smsc")
    for page in ("vendor", "vendor-add", "vendor-remove"):
        assert client.post(reverse(f"admin:{page}", args=["smsc"]), SMSC).status_code in {302, 403}
    assert not stored_credentials.has_stored("smsc")


def test_change_asks_for_the_second_factor_again(client: Client, settings: Settings) -> None:
    settings.OPERATOR_MFA = True
    sign_in(client, make_operator(), "password", "mfa", age=3600)

    response = client.post(reverse("admin:vendor", args=["smsc"]), SMSC)

    assert response.status_code == 302
    assert not stored_credentials.has_stored("smsc")


def test_change_in_another_process_is_seen_on_the_page(
    client: Client, english_operator: User
) -> None:
    stored_credentials.save(name="smsc", values=SMSC, user=english_operator, ip="192.0.2.1")

    assert "Test connection" in shown(client, "smsc")
    availability.refresh()
    assert "smsc" in registry.live_providers()
