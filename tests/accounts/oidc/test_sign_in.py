"""Signing in through a real provider: who gets in, as whom, and for how long."""

import pytest
from allauth.account.models import EmailAddress
from allauth.socialaccount.models import SocialAccount
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from accounts.models import AuditEvent, Company, User, UserSession
from tests.accounts.oidc.sign_ins import (
    connect,
    refusal,
    sign_in,
    sign_in_at_provider,
    signed_in,
    start_sign_in,
    user_of,
)
from tests.accounts.security.people import add_app, make_person
from tests.accounts.security.people import signed_in as people_signed_in
from tests.factories import InvitationFactory, UserFactory
from tests.identity_provider import IdentityProvider
from tests.operator_admin.operators import code_now

pytestmark = pytest.mark.django_db


def test_first_sign_in_creates_a_user_whose_group_grants_a_role(
    client: Client, provider: IdentityProvider, acme: Company
) -> None:
    provider.person("anna", "acme-devs")

    response = sign_in(client, "anna", next="/cabinet/keys")

    assert response["Location"] == "/cabinet/keys"
    user = user_of(client)
    assert user is not None
    assert (user.email, user.name, user.has_usable_password()) == (
        "anna@example.com",
        "Anna",
        False,
    )
    assert [(membership.company, membership.role) for membership in user.memberships.all()] == [
        (acme, "developer")
    ]
    assert EmailAddress.objects.get(user=user).verified
    assert client.get("/cabinet/").status_code == 200
    actions = AuditEvent.objects.order_by("id").values_list("action", flat=True)
    assert list(actions) == ["identity.created", "member.joined", "login.sso"]


def test_second_sign_in_opens_the_same_user(provider: IdentityProvider, acme: Company) -> None:
    provider.person("anna", "acme-devs")

    first, second = user_of(signed_in("anna")), user_of(signed_in("anna"))

    assert first is not None
    assert first == second
    assert SocialAccount.objects.get().extra_data == {"email": "anna@example.com"}


def test_person_without_granting_groups_is_refused(
    client: Client, provider: IdentityProvider, acme: Company
) -> None:
    provider.person("anna", "gardeners")

    response = sign_in(client, "anna")

    assert (response.status_code, refusal(response)) == (403, "no_account")
    assert not User.objects.exists()
    assert AuditEvent.objects.get().action == "login.failed"


def test_user_id_in_the_address_grants_no_access(
    client: Client, provider: IdentityProvider, acme: Company
) -> None:
    user = UserFactory.create(email="Anna@Example.com")
    provider.person("anna", "acme-owners", "admins")

    response = sign_in(client, "anna")

    assert (response.status_code, refusal(response)) == (403, "address_taken")
    assert user_of(client) is None
    user.refresh_from_db()
    assert not user.is_superuser
    assert not user.memberships.exists()
    assert not SocialAccount.objects.exists()


@pytest.mark.parametrize("address", ["anna@example.com", "Anna@Example.COM"])
def test_second_address_of_a_user_grants_no_access(
    client: Client, provider: IdentityProvider, acme: Company, address: str
) -> None:
    user = UserFactory.create()
    EmailAddress.objects.create(user=user, email=address, verified=True)
    provider.person("anna", "acme-devs")

    assert refusal(sign_in(client, "anna")) == "address_taken"


def sign_up(email: str) -> Client:
    stranger = Client()
    form = {"email": email, "company": "Mine", "country": "RU", "password1": "horse battery 7 up"}
    assert stranger.post(reverse("account_signup"), form).status_code == 302
    return stranger


@pytest.mark.parametrize("address", ["anna@example.com", "Anna@Example.COM"])
def test_unconfirmed_sign_up_does_not_lock_out(
    client: Client, provider: IdentityProvider, acme: Company, address: str
) -> None:
    stranger = sign_up(address)
    squatter = User.objects.get()
    provider.person("anna", "acme-devs")

    sign_in(client, "anna")

    user = user_of(client)
    assert user is not None
    assert user != squatter
    assert user.email == "anna@example.com"
    assert [membership.company for membership in user.memberships.all()] == [acme]
    assert user_of(stranger) is None
    squatter.refresh_from_db()
    assert (squatter.email.endswith("@nobody.invalid"), squatter.has_usable_password()) == (
        True,
        False,
    )
    assert not EmailAddress.objects.filter(user=squatter).exists()


def test_unconfirmed_address_blocks_no_sign_in(
    client: Client, provider: IdentityProvider, acme: Company
) -> None:
    other = make_person("boris@example.com")
    session = people_signed_in(other)
    EmailAddress.objects.create(user=other, email="anna@example.com", verified=False)
    provider.person("anna", "acme-devs")

    sign_in(client, "anna")

    user = user_of(client)
    assert user is not None
    assert user.email == "anna@example.com"
    assert [address.email for address in other.emailaddress_set.all()] == ["boris@example.com"]
    assert user_of(session) == other


def test_invitation_and_unconfirmed_sign_up_do_not_lock_out(
    client: Client, provider: IdentityProvider, acme: Company
) -> None:
    InvitationFactory.create(email="anna@example.com", company=acme)
    sign_up("anna@example.com")
    InvitationFactory.create(email="anna@example.com")
    provider.person("anna", "acme-devs")

    sign_in(client, "anna")

    assert user_of(client) is not None


def test_person_without_group_cannot_take_an_address(
    client: Client, provider: IdentityProvider, acme: Company
) -> None:
    sign_up("anna@example.com")
    provider.person("anna", "gardeners")

    assert refusal(sign_in(client, "anna")) == "no_account"
    assert User.objects.get().email == "anna@example.com"


def test_operator_keeps_an_address_that_was_never_confirmed(
    client: Client, provider: IdentityProvider, acme: Company
) -> None:
    operator = UserFactory.create(email="anna@example.com", is_staff=True)
    EmailAddress.objects.create(user=operator, email="anna@example.com", verified=False)
    provider.person("anna", "acme-devs")

    assert refusal(sign_in(client, "anna")) == "address_taken"


def test_unconfirmed_address_creates_no_user(
    client: Client, provider: IdentityProvider, acme: Company, settings: Settings
) -> None:
    settings.OIDC_ASSUME_EMAIL_VERIFIED = False
    provider.person("anna", "acme-devs")

    assert refusal(sign_in(client, "anna")) == "address_unverified"
    assert not User.objects.exists()


def test_identity_of_another_issuer_grants_no_access(
    client: Client, provider: IdentityProvider
) -> None:
    user = make_person("boris@example.com")
    SocialAccount.objects.create(user=user, provider="https://id.example.com", uid="anna")

    assert refusal(sign_in(client, "anna")) == "no_account"


def test_connected_user_passes_the_second_factor_of_ours(
    client: Client, provider: IdentityProvider
) -> None:
    user = make_person()
    connect(user, "anna")
    add_app(user)

    response = sign_in(client, "anna")

    assert response["Location"] == reverse("mfa_authenticate")
    assert user_of(client) is None
    client.post(reverse("mfa_authenticate"), {"code": code_now()})
    assert user_of(client) == user


@pytest.mark.parametrize(
    ("trusted", "location"), [("pwd", "/cabinet/"), ("mfa", "/account/2fa/authenticate/")]
)
def test_trusted_provider_factor_counts(
    client: Client, provider: IdentityProvider, settings: Settings, trusted: str, location: str
) -> None:
    settings.OIDC_TRUSTED_AMR = frozenset({trusted})  # Canaille says amr=["pwd"]
    user = make_person()
    connect(user, "anna")
    add_app(user)

    assert sign_in(client, "anna")["Location"] == location


def test_inactive_user_is_not_let_in(client: Client, provider: IdentityProvider) -> None:
    user = make_person(user__is_active=False)
    connect(user, "anna")

    response = sign_in(client, "anna")

    assert response["Location"] == reverse("account_inactive")
    assert user_of(client) is None


def test_session_has_a_fixed_end(provider: IdentityProvider, settings: Settings) -> None:
    settings.OIDC_SESSION_AGE = 3600
    connect(make_person(), "anna")
    client = signed_in("anna")
    ends_at = client.session.get_expiry_date()

    client.post("/cabinet/company", {"company": ""})
    session = client.session
    session["touched"] = True
    session.save()

    assert client.session.get_expiry_date() == ends_at
    assert 3500 < client.session.get_expiry_age() <= 3600
    assert UserSession.objects.alive().count() == 1


@pytest.mark.parametrize(
    "there",
    ["https://evil.example.com/", "//evil.example.com", "/\\evil.example.com", "javascript:0"],
)
def test_next_does_not_lead_to_another_site(
    client: Client, provider: IdentityProvider, there: str
) -> None:
    connect(make_person(), "anna")

    assert sign_in(client, "anna", next=there)["Location"] == "/cabinet/"


def test_request_carries_pkce_nonce_and_our_own_address(
    client: Client, provider: IdentityProvider
) -> None:
    client.defaults["HTTP_HOST"] = "evil.example.com"

    address = start_sign_in(client)

    assert "code_challenge_method=S256" in address
    assert "nonce=" in address
    assert "redirect_uri=http%3A%2F%2Ftestserver%2Faccount%2Fsso%2Fcallback" in address


def test_query_of_the_button_changes_no_scope_and_no_parameter(
    client: Client, provider: IdentityProvider
) -> None:
    path = reverse("sso-start") + "?scope=admin&auth_params=prompt%3Dnone&process=connect"

    response = client.post(path, {"process": "connect", "scope": "admin"})

    assert "admin" not in response["Refresh"]
    assert "prompt" not in response["Refresh"]


def test_session_of_another_user_is_replaced(client: Client, provider: IdentityProvider) -> None:
    boris = make_person("boris@example.com")
    anna = make_person()
    connect(anna, "anna")
    client.force_login(boris)

    sign_in(client, "anna")

    assert user_of(client) == anna


def test_too_many_starts_are_refused(
    client: Client, provider: IdentityProvider, settings: Settings
) -> None:
    settings.ACCOUNT_RATE_LIMITS = settings.ACCOUNT_RATE_LIMITS | {"sso": "3/m/ip"}

    statuses = [client.post(reverse("sso-start")).status_code for _ in range(4)]

    assert statuses == [200] * 3 + [429]


def test_too_many_callbacks_are_refused(
    client: Client, provider: IdentityProvider, settings: Settings
) -> None:
    """Each callback reads the session, and one with a known state calls the provider."""
    settings.ACCOUNT_RATE_LIMITS = settings.ACCOUNT_RATE_LIMITS | {"sso": "3/m/ip"}
    path = reverse("sso-callback")

    statuses = [client.get(path, {"state": "x", "code": "x"}).status_code for _ in range(4)]

    assert 429 not in statuses[:3]
    assert statuses[3] == 429


def test_pages_are_missing_without_a_provider(client: Client) -> None:
    assert client.post(reverse("sso-start")).status_code == 404
    assert client.get(reverse("sso-callback")).status_code == 404
    assert "sso" not in client.get(reverse("account_login")).content.decode()


def test_callback_is_finished_once(client: Client, provider: IdentityProvider) -> None:
    connect(make_person(), "anna")
    path = sign_in_at_provider(client, "anna")
    client.get(path)
    client.logout()

    response = client.get(path)

    assert (response.status_code, refusal(response)) == (400, "expired")
    assert user_of(client) is None
