"""The admin after a sign-in by the identity provider."""

import pytest
from allauth.socialaccount.models import SocialAccount
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from accounts.models import AuditEvent, Company, User
from tests.accounts.oidc.conftest import acme, identity_provider, provider
from tests.accounts.oidc.sign_ins import connect, sign_in_at_provider, signed_in
from tests.accounts.security.people import add_app, make_person
from tests.identity_provider import IdentityProvider
from tests.operator_admin.operators import code_now, make_operator, sign_in

pytestmark = pytest.mark.django_db
__all__ = ["acme", "identity_provider", "provider"]
ADMIN = "/admin/"


@pytest.fixture
def anna(acme: Company, provider: IdentityProvider, settings: Settings) -> User:
    """A user whose group makes her a superuser."""
    settings.OPERATOR_MFA = True
    provider.person("anna", "admins")
    user = make_person()
    connect(user, "anna")
    return user


def test_admin_opens_after_the_second_factor_of_ours(anna: User) -> None:
    add_app(anna)
    client = signed_in("anna")
    client.post(reverse("mfa_authenticate"), {"code": code_now()})

    assert client.get(ADMIN).status_code == 200


def test_admin_asks_for_a_second_factor(anna: User) -> None:
    client = signed_in("anna")

    assert client.get(ADMIN, follow=True).redirect_chain[1][0] == reverse("mfa_activate_totp")


def test_trusted_factor_of_the_provider_opens_the_admin(anna: User, settings: Settings) -> None:
    settings.OIDC_TRUSTED_AMR = frozenset({"pwd"})

    assert signed_in("anna").get(ADMIN).status_code == 200


def test_rights_of_a_group_do_not_count_after_a_password(anna: User) -> None:
    add_app(anna)
    client = signed_in("anna")
    client.post(reverse("mfa_authenticate"), {"code": code_now()})
    other = Client()
    sign_in(other, anna, "password", "mfa")

    response = other.get(ADMIN, follow=True)

    assert response.redirect_chain[-1][0] == "/account/sso/required?next=%2Fadmin%2F"
    assert "Acme ID" in response.content.decode()
    assert client.get(ADMIN).status_code == 200


def test_admin_closes_once_the_group_is_gone(
    anna: User, provider: IdentityProvider, settings: Settings
) -> None:
    settings.OIDC_TRUSTED_AMR = frozenset({"pwd"})
    client = signed_in("anna")
    before = client.get(ADMIN).status_code
    provider.person("anna")
    signed_in("anna")

    assert before == 200
    assert client.get(ADMIN, follow=True).status_code == 403


def test_fresh_proof_by_the_provider_opens_pages_about_people(
    anna: User, settings: Settings
) -> None:
    settings.OIDC_TRUSTED_AMR = frozenset({"pwd"})
    anna.set_unusable_password()
    anna.save()
    client = signed_in("anna")
    page = reverse("admin:accounts_user_add")
    asked = client.get(page)

    client.get(sign_in_at_provider(client, "anna", "sso-reauthenticate", next=page))

    assert asked["Location"].startswith(reverse("sso-reauthenticate"))
    assert client.get(page).status_code == 200


def test_local_operator_needs_provider_if_configured(
    client: Client, provider: IdentityProvider, settings: Settings
) -> None:
    user = make_operator()
    sign_in(client, user, "mfa")
    before = client.get(ADMIN).status_code
    settings.OIDC_REQUIRED_FOR_ADMIN = True

    response = client.get(ADMIN, follow=True)

    assert before == 200
    assert response.redirect_chain[-1][0].startswith("/account/sso/required")


def test_operator_disconnects_an_identity(client: Client, anna: User) -> None:
    sign_in(client, make_operator(), "mfa")
    signed_in("anna")
    row = SocialAccount.objects.get()

    listed = client.get(reverse("admin:socialaccount_socialaccount_changelist"))
    client.post(reverse("admin:socialaccount_socialaccount_delete", args=[row.pk]), {"post": "yes"})

    assert "anna@example.com" in listed.content.decode()
    assert not SocialAccount.objects.exists()
    anna.refresh_from_db()
    assert not anna.is_superuser
    assert AuditEvent.objects.filter(action="identity.removed").count() == 1


@pytest.mark.parametrize("model", ["socialapp", "socialtoken"])
def test_admin_has_no_page_for_secrets_of_providers(client: Client, model: str) -> None:
    sign_in(client, make_operator(), "mfa")

    assert client.get(f"/admin/socialaccount/{model}/").status_code == 404
