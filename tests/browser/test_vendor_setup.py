"""The operator connects a vendor, reads its approvals and switches its account off."""

import pytest
import responses
from playwright.sync_api import Page, expect
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from channels.models import ProviderAccount, VendorApproval
from channels.vendor_accounts import registry
from tests.browser.operators import enter

pytestmark = pytest.mark.django_db(transaction=True)


def test_vendor_is_connected_and_tested_without_a_file(
    page: Page, live_server: LiveServer, settings: Settings
) -> None:
    enter(page, live_server)
    page.get_by_role("link", name="Провайдеры").first.click()
    section = page.get_by_role("region", name="SMSC")
    section.get_by_role("link", name="Настроить").click()

    fields = page.locator("section[aria-labelledby=credentials] .admin-field")
    assert fields.count() <= 10
    page.get_by_label("Логин").fill("kvitok")
    page.locator("input[name=password]").fill("from the vendor")
    page.get_by_label("Имя отправителя").fill("KVITOK")
    assert len(page.get_by_label("Секрет обратного вызова").input_value()) >= 20
    page.get_by_role("button", name="Сохранить").click()
    expect(page.get_by_text("проверьте подключение")).to_be_visible()

    url = settings.PROVIDER_ACCOUNTS["smsc"]["api_url"]
    with responses.RequestsMock(assert_all_requests_are_fired=False) as wire:
        wire.add_passthru(live_server.url)
        for method in ("GET", "POST"):
            wire.add(
                method, f"{url}/sys/balance.php", json={"balance": "120.50", "currency": "RUR"}
            )
        page.get_by_role("button", name="Проверить подключение").click()
        expect(page.locator(".admin-results")).to_be_visible()

    assert "smsc" in registry.live_providers()
    assert "from the vendor" not in page.content()


def test_approvals_are_read_from_the_vendor(
    page: Page, live_server: LiveServer, settings: Settings
) -> None:
    enter(page, live_server)
    page.goto(f"{live_server.url}/admin/providers/smsc/")
    page.get_by_label("Логин").fill("kvitok")
    page.locator("input[name=password]").fill("from the vendor")
    page.get_by_label("Имя отправителя").fill("KVITOK")
    page.get_by_role("button", name="Сохранить").click()
    senders = f"{settings.PROVIDER_ACCOUNTS['smsc']['api_url']}/sys/senders.php"
    with responses.RequestsMock(assert_all_requests_are_fired=False) as wire:
        wire.add_passthru(live_server.url)
        for method in ("GET", "POST"):
            wire.add(method, senders, json=[{"sender": "KVITOK"}, {"sender": "OTHER"}])
        page.get_by_role("button", name="Спросить провайдера сейчас").click()
        expect(page.get_by_role("row", name="OTHER")).to_be_visible()

    assert VendorApproval.objects.filter(provider="smsc", status="approved").count() == 2


def test_account_is_switched_off_and_removed(page: Page, live_server: LiveServer) -> None:
    enter(page, live_server)
    page.goto(f"{live_server.url}/admin/providers/smsc/")
    page.get_by_label("Логин").fill("kvitok")
    page.locator("input[name=password]").fill("from the vendor")
    page.get_by_role("button", name="Сохранить").click()

    page.get_by_role("link", name="Добавить ещё аккаунт").click()
    page.get_by_label("Имя аккаунта").fill("kz")
    page.get_by_label("Логин").fill("second")
    page.locator("input[name=password]").fill("another")
    page.get_by_role("button", name="Сохранить").click()
    expect(page.get_by_text("/hooks/smsc/kz").first).to_be_visible()

    page.get_by_role("button", name="Удалить учётные данные").click()
    expect(page.get_by_text("Сначала выключите аккаунт")).to_be_visible()
    ProviderAccount.objects.filter(name="smsc:kz").update(is_enabled=False)
    page.get_by_role("button", name="Удалить учётные данные").click()
    expect(page.get_by_text("Учётные данные удалены.")).to_be_visible()

    assert set(registry.live_providers()) >= {"smsc"}
    assert "smsc:kz" not in registry.live_providers()
