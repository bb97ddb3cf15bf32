"""Pages of API keys: a key is shown once, and a revocation asks first."""

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.keys import key_format, signed_tokens
from accounts.models import ApiKey, Member
from tests.accounts.keys.jwt_clients import private_key, public_pem, token_of
from tests.factories import ApiKeyFactory

FORM = {"name": "Site", "mode": "test", "scopes": ["otp", "links"]}


def test_create_shows_the_key_once(client: Client, owner: Member) -> None:
    response = client.post(reverse("key-create"), FORM)

    plaintext = response.context["plaintext"]
    key = owner.company.api_keys.get()
    assert bytes(key.digest) == key_format.digest(plaintext)
    assert plaintext in response.content.decode()
    assert plaintext not in client.get(reverse("key-list")).content.decode()


def test_create_keeps_scopes_addresses_and_the_last_day(client: Client, owner: Member) -> None:
    today = timezone.localdate()

    client.post(
        reverse("key-create"),
        FORM | {"allowed_ips": "203.0.113.7, 198.51.100.9/24", "expires_on": today.isoformat()},
    )

    key = owner.company.api_keys.get()
    assert key.scopes == ["otp", "links"]
    assert key.allowed_ips == ["203.0.113.7", "198.51.100.0/24"]
    assert key.expires_at is not None
    assert timezone.localdate(key.expires_at) == today


def test_address_is_allowed_as_dual_stack_sockets_log_it(client: Client, owner: Member) -> None:
    logged = "::ffff:203.0.113.7, ::ffff:198.51.100.9/120, 2001:db8::1"

    client.post(reverse("key-create"), FORM | {"allowed_ips": logged})

    allowed = owner.company.api_keys.get().allowed_ips
    assert allowed == ["203.0.113.7", "198.51.100.0/24", "2001:db8::1"]


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": ""},
        {"mode": "other"},
        {"scopes": []},
        {"scopes": ["everything"]},
        {"allowed_ips": "example.com"},
        {"expires_on": (timezone.localdate() - timedelta(days=2)).isoformat()},
    ],
    ids=str,
)
def test_key_with_a_wrong_field_is_not_created(
    client: Client, owner: Member, wrong: dict[str, object]
) -> None:
    response = client.post(reverse("key-create"), FORM | wrong)

    assert response.status_code == 200
    assert response.context["form"].errors
    assert not owner.company.api_keys.exists()


def test_revoke_asks_first(client: Client, owner: Member) -> None:
    key = ApiKeyFactory.create(company=owner.company)
    address = reverse("key-revoke", args=[key.pk])

    page = client.get(address)
    key.refresh_from_db()
    was_active = key.is_active
    response = client.post(address)

    key.refresh_from_db()
    assert (page.status_code, was_active, response.status_code) == (200, True, 302)
    assert not key.is_active


def test_rotate_shows_the_successor(client: Client, owner: Member) -> None:
    key = ApiKeyFactory.create(company=owner.company)

    response = client.post(reverse("key-rotate", args=[key.pk]))

    assert key_format.is_well_formed(response.context["plaintext"])
    assert owner.company.api_keys.active().count() == 2


def test_key_of_a_client_that_signs_its_tokens(owner: Member, client: Client) -> None:
    pem = public_pem(private_key())
    form = {"name": "node", "mode": "test", "purpose": "login", "public_key": pem}

    refused = client.post(reverse("key-create-client"), form | {"public_key": "x" * 100})
    shown = client.post(reverse("key-create-client"), form)
    listed = client.get(reverse("key-list"))

    key = ApiKey.objects.get()
    assert "BEGIN PUBLIC KEY" in refused.content.decode()
    assert key.public_key == pem.strip()
    for page in (shown, listed):
        assert key.application_id in page.content.decode()
    signed = signed_tokens.find_signed(token_of(key))
    assert signed is not None
    assert signed.key_id == key.pk
