"""The admin's pages of vendors' accounts: their state, and switching one off."""

import re
from datetime import timedelta
from html import unescape

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from accounts.models import AuditEvent, User
from channels.models import ProviderAccount
from operator_admin.prometheus import DatabaseCollector
from tests.channels.accounts import KZ, create_account, name_accounts, open_breaker
from tests.factories import AttemptFactory
from tests.operator_admin.operators import make_operator, sign_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def page(client: Client, english_operator: User) -> str:
    return shown(client)


def shown(client: Client, name: str = "providers") -> str:
    response = client.get(reverse(f"admin:{name}"), headers={"Accept-Language": "en"})
    assert response.status_code == 200
    return str(response.content.decode())


def act(client: Client, name: str, account: str = "twilio", **data: str) -> int:
    return int(client.post(reverse(f"admin:{name}", args=[account]), data).status_code)


def audited() -> list[tuple[str, str]]:
    return list(AuditEvent.objects.order_by("id").values_list("action", "subject"))


def test_first_visit_creates_the_rows(
    client: Client, english_operator: User, settings: Settings
) -> None:
    name_accounts(settings, "kz")

    text = shown(client)

    rows = ProviderAccount.objects.order_by("position")
    assert [row.name for row in rows] == [
        "whatsapp_cloud",
        "telegram_gateway",
        "telegram_bot",
        "twilio",
        KZ,
        "max_bot",
    ]
    assert {(row.is_enabled, row.weight, tuple(row.prefixes)) for row in rows} == {(True, 1, ())}
    assert "Twilio · kz" in text


def test_contents_of_an_account_have_a_fixed_order(page: str) -> None:
    """They are a set, whose order differs from process to process."""
    (carried,) = re.findall(r"<dd>([^<]*Telegram:[^<]* a link\s*)</dd>", page)

    assert " ".join(unescape(carried).split()) == (
        "Telegram: a code, a code with a link, a code in a text of its own, "
        "a custom code with letters, a custom code, a link"
    )


def test_open_breaker_is_shown_with_its_reason(client: Client, english_operator: User) -> None:
    open_breaker("twilio")
    ProviderAccount.objects.update(reason="20003: Authenticate")

    assert "open: nothing is sent" in shown(client)
    assert "20003: Authenticate" in shown(client)
    assert "Twilio: the breaker is open" in shown(client, "index")


def test_calls_of_the_last_minutes_are_counted(client: Client, english_operator: User) -> None:
    AttemptFactory.create_batch(2, provider="twilio")
    AttemptFactory.create(provider="twilio", state="failed", error_class="refused")
    old = AttemptFactory.create(provider="twilio")
    old.started_at = timezone.now() - timedelta(minutes=6)
    old.save()

    assert "3, failed: 1" in " ".join(shown(client).split())


def test_breaker_is_closed_by_hand(client: Client, english_operator: User) -> None:
    open_breaker("twilio")

    assert act(client, "breaker-close") == 302

    assert ProviderAccount.objects.get().open_until is None
    assert audited() == [("breaker.closed", "twilio")]


def test_account_is_switched_off_and_on(client: Client, english_operator: User) -> None:
    create_account("twilio")

    act(client, "account-switch", is_enabled="0")
    assert ProviderAccount.objects.get(name="twilio").is_enabled  # without a reason
    act(client, "account-switch", is_enabled="0", reason=" the vendor  is down ")
    act(client, "account-switch", is_enabled="0", reason="again")
    assert ProviderAccount.objects.get(name="twilio").pause_reason == "the vendor is down"
    assert not ProviderAccount.objects.get(name="twilio").is_enabled
    act(client, "account-switch", is_enabled="1")

    assert ProviderAccount.objects.get(name="twilio").is_enabled
    assert audited() == [
        ("account.disabled", "twilio: the vendor is down"),
        ("account.enabled", "twilio"),
    ]


def save(client: Client, one: ProviderAccount, **fields: str) -> str:
    data = {
        "is_enabled": "on",
        "position": "30",
        "weight": "1",
        "prefixes": "",
        "max_per_second": "",
    }
    url = reverse("admin:channels_provideraccount_change", args=[one.pk])
    return str(client.post(url, data | fields, follow=True).content.decode())


def test_changes_are_saved_and_audited(client: Client, english_operator: User) -> None:
    row = open_breaker("twilio", position=30)

    save(client, row, prefixes="+7701,+998", max_per_second="80", weight="3")

    row.refresh_from_db()
    assert (row.prefixes, row.max_per_second, row.weight) == (["+7701", "+998"], 80, 3)
    assert row.open_until is not None
    assert audited() == [("account.changed", "twilio: weight, prefixes, max_per_second")]


@pytest.mark.parametrize(
    "wrong",
    [
        {"prefixes": "7701"},
        {"prefixes": "+0"},
        {"weight": "0"},
        {"max_per_second": "0"},
        {"position": "-1"},
    ],
)
def test_wrong_account_settings_are_refused(
    client: Client, english_operator: User, wrong: dict[str, str]
) -> None:
    row = create_account("twilio", position=30)

    save(client, row, **wrong)

    row.refresh_from_db()
    assert (row.prefixes, row.max_per_second, row.weight, row.position) == ([], None, 1, 30)
    assert audited() == []


def test_helper_may_look_only(client: Client) -> None:
    create_account("twilio")
    helper = make_operator()
    User.objects.filter(pk=helper.pk).update(is_superuser=False)
    helper.user_permissions.add(Permission.objects.get(codename="view_provideraccount"))
    sign_in(client, helper, "password", "mfa")

    assert "account-switch" not in shown(client)
    assert act(client, "account-switch", is_enabled="0") == 403
    assert act(client, "breaker-close") == 403


def test_unknown_account_is_not_there(client: Client, english_operator: User) -> None:
    assert act(client, "breaker-close", "nobody") == 404


@pytest.mark.django_db(transaction=True)
def test_breakers_are_exported_to_prometheus() -> None:
    open_breaker("twilio")
    open_breaker("telegram_bot", left=timedelta(seconds=-1))

    result = {family.name: family for family in DatabaseCollector().collect()}

    assert {
        sample.labels["provider"]: sample.value for sample in result["kvitok_breaker_state"].samples
    } == {"whatsapp_cloud": 0, "telegram_gateway": 0, "telegram_bot": 1, "twilio": 2, "max_bot": 0}
