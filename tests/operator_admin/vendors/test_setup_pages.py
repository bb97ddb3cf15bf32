"""The admin's pages that guide the set-up of a vendor."""

import re
from html import unescape

import pytest
import responses
from django.conf import settings as django_settings
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from accounts.models import AuditEvent, User
from channels.models import Heartbeat
from channels.providers.vendors import VENDORS
from channels.vendor_accounts import registry
from operator_admin.doctor import vendors
from tests.channels.accounts import KZ, create_account, name_accounts, set_account
from tests.factories import CompanyFactory
from tests.operator_admin.operators import make_operator, sign_in
from tests.tools.simulator.test_accounts import TOPICS

pytestmark = pytest.mark.django_db


def shown(client: Client, name: str) -> str:
    response = client.get(reverse("admin:vendor", args=[name]), headers={"Accept-Language": "en"})
    assert response.status_code == 200
    return unescape(response.content.decode())


def ask(client: Client, name: str) -> tuple[int, str]:
    url = reverse("admin:vendor-test", args=[name])
    response = client.post(url, headers={"Accept-Language": "en"})
    return response.status_code, unescape(response.content.decode())


def states(page: str) -> list[str]:
    return re.findall(r'<li class="is-(\w+)">', page)


@pytest.mark.usefixtures("english_operator")
@pytest.mark.parametrize("name", list(VENDORS))
def test_every_vendor_has_a_page_with_its_settings_and_address(client: Client, name: str) -> None:
    page = shown(client, name)

    steps = registry.setup_steps(name)
    variables = {VENDORS[name].variable(option) for step in steps for option in step.options}
    assert len(steps) >= 3
    assert variables
    assert all(f"<code>{variable}</code>" in page for variable in variables)
    assert all(step.where in page for step in steps)
    if VENDORS[name].hook:
        assert f"{django_settings.PUBLIC_URL}/hooks/{VENDORS[name].hook}" in page


@pytest.mark.parametrize("name", list(VENDORS))
def test_every_variable_of_a_guide_is_read_by_the_service(name: str) -> None:
    example = (django_settings.BASE_DIR / ".env.example").read_text(encoding="utf-8")
    steps = registry.setup_steps(name)
    variables = [VENDORS[name].variable(option) for step in steps for option in step.options]

    assert [
        variable for variable in variables if not re.search(rf"^#? ?{variable}=", example, re.M)
    ] == []


@pytest.mark.usefixtures("english_operator")
def test_account_page_names_its_variables_and_address(client: Client, settings: Settings) -> None:
    name_accounts(settings, "kz")

    page = shown(client, KZ)

    assert "<code>TWILIO_KZ_AUTH_TOKEN</code>" in page
    assert f"{settings.PUBLIC_URL}/hooks/twilio/kz<" in page


@pytest.mark.usefixtures("english_operator")
def test_page_shows_set_variables_but_no_secret(client: Client, settings: Settings) -> None:
    set_account(settings, "twilio", {"auth_token": "s3cret-token", "sender": ""})

    page = shown(client, "twilio")

    assert re.search(r"TWILIO_AUTH_TOKEN</code>\s*<span[^>]*>✓ set", page)
    assert re.search(r"TWILIO_FROM</code>\s*<span[^>]*>not set", page)
    assert "s3cret-token" not in page


@pytest.mark.usefixtures("english_operator")
def test_unconfigured_vendor_has_guide_without_test(client: Client) -> None:
    page = shown(client, "smsc")

    assert "not configured yet" in page
    assert "Test connection" not in page
    assert ask(client, "smsc")[0] == 404


@pytest.mark.usefixtures("english_operator")
@pytest.mark.parametrize("name", ["nobody", "twilio:nobody", "test_sms"])
def test_unknown_account_has_no_page(client: Client, name: str) -> None:
    assert client.get(reverse("admin:vendor", args=[name])).status_code == 404


@pytest.mark.usefixtures("english_operator")
def test_connection_is_tested_and_audited(client: Client, settings: Settings) -> None:
    CompanyFactory.create(country="KZ")
    url = settings.PROVIDER_ACCOUNTS["twilio"]["api_url"]
    sid = settings.PROVIDER_ACCOUNTS["twilio"]["account_sid"]
    account = f"{url}/2010-04-01/Accounts/{sid}"
    ours = {
        "phone_number": settings.PROVIDER_ACCOUNTS["twilio"]["sender"],
        "capabilities": {"sms": True},
    }
    with responses.RequestsMock() as wire:
        wire.get(f"{account}.json", json={"sid": sid, "status": "active", "type": "Full"})
        wire.get(f"{account}/Balance.json", json={"balance": "3.10", "currency": "USD"})
        wire.get(f"{account}/IncomingPhoneNumbers.json", json={"incoming_phone_numbers": [ours]})
        refused = {"permissions": [{"country_code": "KZ", "enabled": False}]}
        wire.get(f"{url}/v1/Messaging/GeoPermissions", json=refused)
        status, page = ask(client, "twilio")

    assert status == 200
    assert states(page) == ["good", "good", "good", "good", "bad"]
    assert "1 thing needs attention" in page
    assert "Geo permissions. Without it Twilio refuses" in page
    event = AuditEvent.objects.get(action="account.tested")
    assert event.subject == "twilio"


@pytest.mark.usefixtures("english_operator")
def test_dead_token_is_the_only_reported_fault(client: Client, settings: Settings) -> None:
    url = settings.PROVIDER_ACCOUNTS["twilio"]["api_url"]
    sid = settings.PROVIDER_ACCOUNTS["twilio"]["account_sid"]
    with responses.RequestsMock() as wire:
        wire.get(
            f"{url}/2010-04-01/Accounts/{sid}.json",
            json={
                "code": 20003,
                "message": f"Authenticate {settings.PROVIDER_ACCOUNTS['twilio']['auth_token']}",
            },
            status=401,
        )
        _, page = ask(client, "twilio")

    assert states(page) == ["bad"]
    assert settings.PROVIDER_ACCOUNTS["twilio"]["auth_token"] not in page
    assert "Compare the account's variables" in page


@pytest.mark.usefixtures("english_operator")
def test_bind_is_reported_by_its_own_process(client: Client, settings: Settings) -> None:
    set_account(settings, "smpp", {"host": "127.0.0.1", "source": "Kvitok"})
    details = {"bound": 1, "unanswered": 0, "window": 10}
    Heartbeat.objects.create(process="smpp", kind="smpp", at=timezone.now(), details=details)

    assert states(ask(client, "smpp")[1]) == ["good"]


def test_test_needs_the_right_to_change_accounts_and_a_post(client: Client) -> None:
    reader = make_operator()
    User.objects.filter(pk=reader.pk).update(is_superuser=False)
    reader.user_permissions.add(*Permission.objects.filter(codename="view_provideraccount"))
    sign_in(client, reader, "password", "mfa")
    url = reverse("admin:vendor-test", args=["twilio"])

    assert client.post(url).status_code == 403
    assert client.get(url).status_code == 403
    assert "vendor-test" not in shown(client, "twilio")
    assert url not in shown(client, "twilio")
    assert not AuditEvent.objects.filter(action="account.tested").exists()


def test_test_is_protected_against_forged_posts() -> None:
    strict = Client(enforce_csrf_checks=True)
    sign_in(strict, make_operator(), "password", "mfa")

    assert strict.post(reverse("admin:vendor-test", args=["twilio"])).status_code == 403


@pytest.mark.usefixtures("english_operator")
def test_message_to_own_phone_needs_first_account(client: Client, settings: Settings) -> None:
    name_accounts(settings, "kz")
    trial = reverse("admin:trial", args=[KZ])
    assert trial not in shown(client, KZ)
    assert "move it to the top" in shown(client, KZ)

    create_account(KZ, position=0)
    create_account("twilio", position=90)

    assert trial in shown(client, KZ)


def test_every_topic_of_a_check_has_words_and_a_remedy() -> None:
    names = {
        "whatsapp": "whatsapp_cloud",
        "bot": "telegram_bot",
        "max": "max_bot",
        "gateway": "telegram_gateway",
        "service": "twilio",
    }
    topics = {
        (names.get(vendor, vendor), topic)
        for vendor, some in TOPICS.items()
        for topic in some
        if topic != "account"
    }
    assert {topic for _, topic in topics} <= vendors.TITLES.keys()
    assert topics - vendors.REMEDIES.keys() == set()
