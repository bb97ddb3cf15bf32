"""The traces of a fourth channel, the pager of `test_channels`; run in a copy that has it."""

import pytest
from django.conf import settings
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from catalogue.channels import CHANNELS
from channels.models import Message
from tests.api.clients import Api
from tests.factories import MemberFactory, WalletFactory

PHONE = "+79161234567"


@pytest.fixture
def cabinet(client: Client, db: None) -> Client:
    member = MemberFactory.create()
    WalletFactory.create(company=member.company, available=70)
    client.force_login(member.user)
    return client


def page(client: Client, address: str) -> str:
    response = client.get(address, headers={"accept-language": "en"})
    assert response.status_code == 200
    return response.content.decode()


def test_new_channel_has_price_without_migration(db: None) -> None:
    assert settings.PRICES["pager"] == 7
    call_command("makemigrations", check=True, dry_run=True)


def test_settings_offer_it(cabinet: Client) -> None:
    shown = page(cabinet, reverse("settings"))

    # The default, and each place of the chain, of which one has it.
    assert shown.count('<option value="pager"') == len(CHANNELS) + 1
    assert 'name="patience_pager"' in shown
    assert "45" in shown


def test_cabinet_shows_it(cabinet: Client) -> None:
    assert '<option value="pager">Pager</option>' in page(cabinet, reverse("message-list"))
    assert '<option value="pager">Pager</option>' in page(cabinet, reverse("text-create"))
    assert "<dt>Pager</dt><dd>10</dd>" in page(cabinet, reverse("balance"))


def test_public_pages_show_it(client: Client, db: None) -> None:
    home = page(client, "/")

    assert "codes to a pager" in home
    assert "Telegram, SMS" in home
    assert '"pager"' in page(client, reverse("openapi"))


def test_test_key_sends_by_it_what_it_carries(test_api: Api) -> None:
    sent = test_api.post("/otp/send", {"phone": PHONE, "channel": "pager"})
    refused = test_api.post(
        "/links/send", {"phone": PHONE, "channel": "pager", "url": "https://e.com"}
    )

    assert (sent.status, sent.body["channel"]) == (200, "pager")
    assert Message.objects.get().channel == "pager"
    assert refused.code == "link_not_supported"
