"""The form of the fallback: order, patience and cost of channels."""

import pytest
from django.test import Client
from django.urls import reverse

from accounts.keys import api_keys
from accounts.keys.principal import Fallback
from accounts.models import Member
from tests.cabinet.settings_page import CHANNELS, form_of, send
from tests.factories import ApiKeyFactory

ON = CHANNELS | {"falls_back": "on", "chain_1": "whatsapp", "chain_2": "sms", "chain_3": ""}


def fallback_of(owner: Member) -> Fallback | None:
    """The fallback that a request with a key of the company gets."""
    principal = api_keys.find(ApiKeyFactory.create(company=owner.company).plaintext)
    assert principal is not None
    return principal.fallback


def test_fallback_is_off_by_default(client: Client, owner: Member) -> None:
    assert fallback_of(owner) is None

    send(client, "channels", ON)

    assert fallback_of(owner) == Fallback(("whatsapp", "sms"), {}, None)
    assert owner.company.audit.get().subject == "falls_back, fallback_chain"


@pytest.mark.parametrize(
    ("default", "order"),
    [("", ["whatsapp", "telegram", "sms"]), ("sms", ["sms", "whatsapp", "telegram"])],
)
def test_order_is_filled_in_when_fallback_is_turned_on(
    client: Client, owner: Member, default: str, order: list[str]
) -> None:
    owner.company.default_channel = default
    owner.company.save()
    form = form_of(client.get(reverse("settings")), "channels")
    shown = {name: form[name].value() for name in ("chain_1", "chain_2", "chain_3")}
    fields = CHANNELS | {"default_channel": default} | shown

    send(client, "channels", fields)
    owner.company.refresh_from_db()
    untouched = (owner.company.falls_back, owner.company.fallback_chain)
    send(client, "channels", fields | {"falls_back": "on"})

    assert list(shown.values()) == order
    assert untouched == (False, [])
    fallback = fallback_of(owner)
    assert fallback is not None
    assert list(fallback.chain) == order


def test_patience_and_cost_are_the_company_s_own(client: Client, owner: Member) -> None:
    fields = {"patience_whatsapp": "10", "patience_sms": "600", "fallback_max_cost": "1 900"}

    send(client, "channels", ON | fields)

    assert fallback_of(owner) == Fallback(("whatsapp", "sms"), {"whatsapp": 10, "sms": 600}, 1900)


def test_disabled_fallback_keeps_its_order(client: Client, owner: Member) -> None:
    send(client, "channels", ON)

    send(client, "channels", ON | {"falls_back": ""})

    owner.company.refresh_from_db()
    assert owner.company.fallback_chain == ["whatsapp", "sms"]
    assert fallback_of(owner) is None


def test_gap_in_the_order_is_closed(client: Client, owner: Member) -> None:
    send(client, "channels", ON | {"chain_1": "", "chain_3": "telegram"})

    fallback = fallback_of(owner)
    assert fallback is not None
    assert fallback.chain == ("sms", "telegram")


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"chain_2": ""}, "chain_2"),
        ({"chain_2": "whatsapp"}, "chain_2"),
        ({"chain_1": "pigeon"}, "chain_1"),
        ({"default_channel": "sms"}, "default_channel"),
        ({"patience_sms": "9"}, "patience_sms"),
        ({"patience_sms": "601"}, "patience_sms"),
        ({"fallback_max_cost": "0"}, "fallback_max_cost"),
    ],
    ids=str,
)
def test_invalid_fallback_settings_are_refused(
    client: Client, owner: Member, changes: dict[str, str], field: str
) -> None:
    response = send(client, "channels", ON | changes)

    assert list(form_of(response, "channels").errors) == [field]
    assert not owner.company.audit.exists()
