"""The account page connects an identity of the provider and disconnects it."""

from concurrent.futures import ThreadPoolExecutor
from urllib.parse import parse_qs, urlsplit

import pytest
from allauth.socialaccount.models import SocialAccount
from django.db import transaction
from django.test import Client
from django.urls import reverse

from accounts.models import AuditEvent, Company, User
from tests.accounts.oidc.sign_ins import (
    connect,
    refusal,
    sign_in_at_provider,
    signed_in,
    start_sign_in,
    user_of,
)
from tests.accounts.security.people import add_app, confirm, emails_to, is_asked, make_person
from tests.accounts.security.people import signed_in as by_password
from tests.api.blocking import start_blocked
from tests.identity_provider import IdentityProvider

pytestmark = pytest.mark.django_db


@pytest.fixture
def anna(provider: IdentityProvider) -> User:
    return make_person()


@pytest.fixture
def client(anna: User) -> Client:
    """A client signed in by password and just reauthenticated."""
    client = by_password(anna)
    confirm(client)
    return client


def identities() -> list[tuple[str, str]]:
    return list(SocialAccount.objects.values_list("user__email", "uid"))


def test_identity_is_connected_after_reauthentication(client: Client, anna: User) -> None:
    other = by_password(anna)
    confirm(client)

    response = client.get(sign_in_at_provider(client, "anna", "sso-connect"), follow=True)

    assert identities() == [(anna.email, "anna")]
    assert "Теперь вы можете входить через Acme ID" in response.content.decode()
    assert other.get("/cabinet/").status_code == 302
    assert "identity.linked" in AuditEvent.objects.values_list("action", flat=True)
    assert emails_to(anna.email)[-1] == "К вашей учётной записи подключён единый вход"
    assert user_of(signed_in("anna")) == anna


def test_connecting_requires_reauthentication(anna: User) -> None:
    client = by_password(anna)

    assert is_asked(client, "sso-connect")
    assert is_asked(client, "sso-connect", {})
    connect(anna, "anna")
    assert is_asked(client, "sso-disconnect", {})


def test_identity_of_another_user_is_not_connected(client: Client, anna: User) -> None:
    connect(make_person("boris@example.com"), "anna")

    response = client.get(sign_in_at_provider(client, "anna", "sso-connect"))

    assert (response.status_code, refusal(response)) == (409, "linked_elsewhere")
    assert identities() == [("boris@example.com", "anna")]


@pytest.mark.django_db(transaction=True)
def test_identity_connected_by_two_at_once_belongs_to_the_first(client: Client) -> None:
    boris = make_person("boris@example.com")
    path = sign_in_at_provider(client, "anna", "sso-connect")

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            connect(boris, "anna")
            overtaken = start_blocked(pool, lambda: client.get(path))
        response = overtaken.result()

    assert (response.status_code, refusal(response)) == (409, "linked_elsewhere")
    assert identities() == [("boris@example.com", "anna")]


def test_second_identity_is_refused(client: Client, anna: User, provider: IdentityProvider) -> None:
    provider.person("annette")
    path = sign_in_at_provider(client, "annette", "sso-connect")
    connect(anna, "anna")

    assert refusal(client.get(path)) == "linked_already"


def test_callback_in_another_browser_is_refused(client: Client, anna: User) -> None:
    """A stranger who has signed in at the provider sends the callback's URL to a victim."""
    stranger = by_password(make_person("boris@example.com"))
    confirm(stranger)
    path = sign_in_at_provider(stranger, "anna", "sso-connect")

    assert refusal(client.get(path)) == "expired"
    assert identities() == []


def test_code_of_another_session_is_refused_by_the_provider(client: Client, anna: User) -> None:
    connect(anna, "anna")
    victim = Client()
    attacker = Client()
    stolen = query_of(sign_in_at_provider(victim, "anna"))["code"]
    state = query_of(start_sign_in(attacker))["state"]

    response = attacker.get(reverse("sso-callback"), {"code": stolen, "state": state})

    assert refusal(response) == "expired"  # "started in another browser"
    assert user_of(attacker) is None


def query_of(address: str) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}


def test_sign_in_button_does_not_connect(client: Client, anna: User) -> None:
    response = client.get(sign_in_at_provider(client, "anna", process="connect"))

    assert refusal(response) == "address_taken"
    assert identities() == []


def test_identity_is_disconnected_with_its_rights(
    client: Client, anna: User, provider: IdentityProvider, acme: Company
) -> None:
    connect(anna, "anna")
    provider.person("anna", "acme-owners", "admins")
    theirs = signed_in("anna")
    confirm(client)

    question = client.get(reverse("sso-disconnect")).content.decode()
    response = client.post(reverse("sso-disconnect"), follow=True)

    assert "Отключить Acme ID" in question
    assert "Acme ID больше не открывает вашу учётную запись" in response.content.decode()
    anna.refresh_from_db()
    assert not anna.is_superuser
    assert not acme.members.filter(user=anna).exists()
    assert theirs.get("/cabinet/").status_code == 302
    assert identities() == []


def test_only_way_in_is_not_disconnected(provider: IdentityProvider, acme: Company) -> None:
    provider.person("anna", "acme-devs")
    client = signed_in("anna")
    client.get(sign_in_at_provider(client, "anna", "sso-reauthenticate"))

    response = client.post(reverse("sso-disconnect"), follow=True)

    assert "Сначала задайте пароль" in response.content.decode()
    assert len(identities()) == 1


def test_user_without_password_reauthenticates_with_the_provider(
    provider: IdentityProvider, acme: Company
) -> None:
    provider.person("anna", "acme-owners")
    client = signed_in("anna")
    asked = client.post(reverse("key-create"), {"name": "k", "mode": "live", "scopes": ["otp"]})

    path = sign_in_at_provider(client, "anna", "sso-reauthenticate", next="/account/password/set/")
    response = client.get(path)

    assert asked["Location"].startswith(reverse("sso-reauthenticate"))
    assert response["Location"] == "/account/password/set/"
    assert client.get(response["Location"]).status_code == 200
    assert "reauthentication.passed" in AuditEvent.objects.values_list("action", flat=True)


def test_another_identity_does_not_reauthenticate(
    provider: IdentityProvider, acme: Company
) -> None:
    provider.person("anna", "acme-owners")
    provider.person("annette", "acme-owners")
    client = signed_in("anna")

    response = client.get(sign_in_at_provider(client, "annette", "sso-reauthenticate"))

    assert refusal(response) == "other_identity"
    assert is_asked_by_provider(client)


def is_asked_by_provider(client: Client) -> bool:
    response = client.get(reverse("account_set_password"))
    return response.headers.get("Location", "").startswith(reverse("sso-reauthenticate"))


def test_user_with_factor_reauthenticates_with_us(client: Client, anna: User) -> None:
    connect(anna, "anna")
    add_app(anna)

    client.get(sign_in_at_provider(client, "anna", "sso-reauthenticate"))

    assert client.get(reverse("account_change_password"))["Location"].startswith(
        reverse("mfa_reauthenticate")
    )
