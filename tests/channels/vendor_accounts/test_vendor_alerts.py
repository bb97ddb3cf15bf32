"""Vendors' alerts about our accounts reach the operator."""

from datetime import timedelta

import pytest
import responses
import time_machine
from django.conf import settings
from django.db import OperationalError, connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from accounts import purges
from accounts.models import Mail
from channels.models import ProviderAccount, ProviderAlert, Receipt
from channels.providers.inbound import AccountAlert, AlertKind
from channels.providers.vendors import VENDORS
from channels.vendor_accounts import vendor_alerts
from tests.api.clients import Api
from tests.channels.message_stages import claimed, hand_over
from tests.channels.providers.vendors import PAYLOADS, call_webhook, meta_call, payload, whatsapp
from tests.factories import UserFactory
from tests.operator_admin.operators import make_operator, sign_in

pytestmark = pytest.mark.django_db
TOO_FAST = AccountAlert("130429", "Too many messages", AlertKind.THROTTLED)
PAUSED = AccountAlert("template_paused", "short_link ru", AlertKind.TEMPLATE)


def stored_alerts() -> list[tuple[str, str, str, int]]:
    rows = ProviderAlert.objects.order_by("code")
    return [(row.provider, row.code, row.kind, row.times) for row in rows]


def test_account_alert_is_stored_beside_receipts() -> None:
    for file in ("out_of_band_error_2026-09.json", "template_paused_2026-11.json"):
        assert call_webhook("whatsapp_cloud", payload("whatsapp_cloud", file)) == 200

    assert stored_alerts() == [
        ("whatsapp_cloud", "130429", "throttled", 1),
        ("whatsapp_cloud", "template_paused", "template", 1),
    ]
    assert not Receipt.objects.exists()


@pytest.mark.parametrize(
    ("kind", "is_shut"),
    [
        (AlertKind.REFUSED, True),
        (AlertKind.THROTTLED, False),
        (AlertKind.TEMPLATE, False),
        (AlertKind.WARNING, False),
    ],
)
def test_alert_of_a_refused_account_opens_the_breaker(kind: AlertKind, is_shut: bool) -> None:
    vendor_alerts.record("whatsapp_cloud", AccountAlert("131031", "Account locked", kind))

    opened = ProviderAccount.objects.filter(name="whatsapp_cloud", open_until__gt=timezone.now())
    assert opened.exists() is is_shut


@pytest.mark.parametrize(
    ("kind", "emails"), [(AlertKind.WARNING, 1), (AlertKind.TEMPLATE, 1), (AlertKind.THROTTLED, 0)]
)
def test_operators_get_one_email_a_day_per_warning(kind: AlertKind, emails: int) -> None:
    UserFactory.create(is_staff=True, language="en")

    for _ in range(2):
        vendor_alerts.record("whatsapp_cloud", AccountAlert("quality_flagged", "TIER_2K", kind))

    assert Mail.objects.count() == emails
    assert all("quality_flagged: TIER_2K" in mail.text for mail in Mail.objects.all())
    assert all("its limit may be lowered" in mail.text for mail in Mail.objects.all())


@pytest.mark.parametrize("code", sorted(vendor_alerts.WORDED_BY_OUTSIDERS))
def test_alerts_with_text_from_outsiders_are_mailed_once_a_day(code: str) -> None:
    UserFactory.create(is_staff=True, language="en")

    for number in range(5):
        vendor_alerts.record("twilio", AccountAlert(code, f"sender {number}", AlertKind.WARNING))

    assert Mail.objects.count() == 1
    assert ProviderAlert.objects.count() == 5


def test_repeated_warning_of_another_day_is_mailed_again() -> None:
    UserFactory.create(is_staff=True, language="en")
    flagged = AccountAlert("quality_flagged", "TIER_2K", AlertKind.WARNING)

    vendor_alerts.record("whatsapp_cloud", flagged)
    with time_machine.travel(timezone.now() + timedelta(days=1)):
        vendor_alerts.record("whatsapp_cloud", flagged)

    assert Mail.objects.count() == 2


def test_equal_alerts_use_one_statement(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    UserFactory.create(is_staff=True, language="en")
    refused = AccountAlert("21408", "Permission has not been enabled", AlertKind.WARNING)
    vendor_alerts.record("twilio", refused)

    for _ in range(1000):
        vendor_alerts.enqueue("twilio", refused)
    with django_assert_num_queries(3):  # the statement, between a savepoint and its release
        vendor_alerts.record_queued()

    assert stored_alerts() == [("twilio", "21408", "warning", 1001)]
    assert Mail.objects.count() == 1


def test_alerts_wait_for_the_database() -> None:
    def away(*_args: object) -> None:
        raise OperationalError("the connection is closed")

    for alert in (TOO_FAST, PAUSED, TOO_FAST):
        vendor_alerts.enqueue("whatsapp_cloud", alert)
    with connection.execute_wrapper(away), pytest.raises(OperationalError):
        vendor_alerts.record_queued()
    vendor_alerts.record_queued()
    vendor_alerts.record_queued()

    assert {(code, times) for _provider, code, _kind, times in stored_alerts()} == {
        ("130429", 2),
        ("template_paused", 1),
    }


def test_every_whatsapp_alert_has_its_own_text() -> None:
    files = (PAYLOADS / "whatsapp_cloud").glob("*_2026-11.json")
    webhook_body = {
        alert.code
        for file in files
        for alert in whatsapp().parse_webhook(meta_call(file.read_bytes())).alerts
        if alert.code != "increased_capabilities_eligibility_deferred"  # Meta words it itself
    }

    assert len(webhook_body) >= 15
    assert webhook_body - VENDORS["whatsapp_cloud"].alerts.keys() == set()


def test_reservation_of_a_send_is_recorded_by_the_dispatcher(api: Api) -> None:
    held = payload("whatsapp_cloud", "accepted_held_2026-11.json")
    account = settings.PROVIDER_ACCOUNTS["whatsapp_cloud"]
    base = "{api_url}/{version}/{phone_number_id}".format_map(account)
    message = claimed(api, channel="whatsapp")

    with responses.RequestsMock() as wire:
        wire.post(f"{base}/messages", body=held)
        event = hand_over(message)
    vendor_alerts.record_queued()

    assert event.kind == "accepted"
    assert stored_alerts() == [("whatsapp_cloud", "held_for_quality_assessment", "template", 1)]


def test_alerts_are_purged_after_a_month() -> None:
    vendor_alerts.record("whatsapp_cloud", TOO_FAST)
    vendor_alerts.record("whatsapp_cloud", PAUSED)
    ProviderAlert.objects.filter(code="130429").update(at=timezone.now() - timedelta(days=31))

    purges.purge()

    assert [row.code for row in ProviderAlert.objects.all()] == ["template_paused"]


def test_operator_page_shows_paused_templates_and_refused_accounts(client: Client) -> None:
    sign_in(client, make_operator(), "password", "mfa")
    vendor_alerts.record("whatsapp_cloud", PAUSED)
    vendor_alerts.record("whatsapp_cloud", AccountAlert("131031", "Locked", AlertKind.REFUSED))

    page = client.get(reverse("admin:providers")).content.decode()

    assert "short_link ru" in page
    assert "Meta отключила шаблон" in page
    assert "Locked" in page
