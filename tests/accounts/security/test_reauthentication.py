"""Sensitive actions ask for reauthentication, so a stolen session cannot perform them."""

import json
import re
import time
from base64 import urlsafe_b64encode
from urllib.parse import unquote

import pytest
import time_machine
from allauth.account.models import EmailAddress
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from accounts.models import Invitation, Member, User
from accounts.security.reauthentication import DRAFT
from tests.accounts.security.people import (
    add_address,
    add_app,
    confirm,
    confirm_by_code,
    emails_to,
    is_asked,
    signed_in,
)
from tests.browser.people import add_second_factors
from tests.factories import ApiKeyFactory, EndpointFactory, MemberFactory
from tests.operator_admin.operators import code_now

pytestmark = pytest.mark.django_db

THIEF = "thief@example.net"
PAGES = ["account_change_password", "mfa_activate_totp", "mfa_add_webauthn"]
PAGES_WITH_FACTOR = [
    "account_change_password",
    "mfa_add_webauthn",
    "mfa_deactivate_totp",
    "mfa_generate_recovery_codes",
    "mfa_view_recovery_codes",
    "mfa_download_recovery_codes",
]
KEY = {"name": "Site", "mode": "live", "scopes": ["otp"]}

_CLIENT_DATA = json.dumps({"type": "webauthn.get", "challenge": "eA", "origin": "https://x"})
PASSKEY = json.dumps(  # well-formed, but not registered
    {
        "id": "eA",
        "rawId": "eA",
        "type": "public-key",
        "response": {
            "clientDataJSON": urlsafe_b64encode(_CLIENT_DATA.encode()).rstrip(b"=").decode(),
            "authenticatorData": "A" * 50,
            "signature": "eA",
        },
    }
)


@pytest.fixture
def client(user: User) -> Client:
    """A session that has just been opened, without reauthentication."""
    return signed_in(user)


def company_of(user: User) -> "Member":
    return user.memberships.get()


@pytest.mark.parametrize("action", ["action_add", "action_primary", "action_remove"])
def test_addresses_change_only_after_reauthentication(
    client: Client, user: User, action: str
) -> None:
    add_address(user, "second@example.com")
    email = THIEF if action == "action_add" else "second@example.com"
    change = {"email": email, action: ""}

    asked = is_asked(client, "account_email", change)
    unchanged = sorted(EmailAddress.objects.values_list("email", "primary"))
    confirm(client)
    client.post(reverse("account_email"), change)

    assert asked
    assert unchanged == [("anna@example.com", True), ("second@example.com", False)]
    assert sorted(EmailAddress.objects.values_list("email", "primary")) != unchanged


@pytest.mark.parametrize("name", PAGES)
def test_credential_pages_require_reauthentication(client: Client, name: str) -> None:
    assert is_asked(client, name)
    assert is_asked(client, name, {})

    confirm(client)

    assert client.get(reverse(name)).status_code == 200


@pytest.mark.parametrize("name", PAGES_WITH_FACTOR)
def test_factor_pages_require_the_second_factor(client: Client, user: User, name: str) -> None:
    add_app(user)
    RecoveryCodes.activate(user)
    assert is_asked(client, name)

    confirm(client)  # the password by itself is not enough any more
    assert is_asked(client, name)
    confirm_by_code(client)

    assert client.get(reverse(name)).status_code == 200


def test_reauthentication_by_password_redirects_to_an_existing_factor(
    client: Client, user: User
) -> None:
    add_app(user)

    assert confirm(client).startswith(reverse("mfa_reauthenticate"))


def test_password_reauthentication_expires_when_a_factor_is_added(
    client: Client, user: User
) -> None:
    confirm(client)
    add_app(user)

    assert is_asked(client, "account_change_password")


def test_reauthentication_lasts_five_minutes(client: Client, settings: Settings) -> None:
    confirm(client)
    assert settings.ACCOUNT_REAUTHENTICATION_TIMEOUT == 300

    with time_machine.travel(time.time() + 299):
        before = is_asked(client, "account_change_password")
    with time_machine.travel(time.time() + 301):
        after = is_asked(client, "account_change_password")

    assert (before, after) == (False, True)


def test_live_keys_are_created_only_after_reauthentication(client: Client, user: User) -> None:
    keys = company_of(user).company.api_keys
    assert is_asked(client, "key-create", KEY)
    assert client.post(reverse("key-create"), KEY | {"mode": "test"}).status_code == 200

    confirm(client)
    client.post(reverse("key-create"), KEY)

    assert sorted(keys.values_list("mode", flat=True)) == ["live", "test"]


@pytest.mark.parametrize(("mode", "is_guarded"), [("live", True), ("test", False)])
def test_live_keys_and_secrets_rotate_only_after_reauthentication(
    client: Client, user: User, mode: str, is_guarded: bool
) -> None:
    company = company_of(user).company
    key = ApiKeyFactory.create(company=company, mode=mode)
    endpoint = EndpointFactory.create(company=company, mode=mode)
    paths = [
        reverse("key-rotate", args=[key.pk]),
        reverse("webhook-rotate", args=[endpoint.public_id]),
    ]

    responses = [client.post(path) for path in paths]

    assert [response.status_code for response in responses] == [302 if is_guarded else 200] * 2
    if is_guarded:
        confirm(client)
        assert [client.post(path).status_code for path in paths] == [200, 200]


@pytest.mark.parametrize("role", Member.Role.values)
def test_roles_with_rights_are_invited_only_after_reauthentication(
    client: Client, role: str
) -> None:
    client.post(reverse("member-invite"), {"email": THIEF, "role": role})

    assert Invitation.objects.exists() is (role == "viewer")


@pytest.mark.parametrize(
    ("was", "becomes"),
    [("viewer", "owner"), ("owner", "viewer"), ("viewer", "developer"), ("viewer", "accountant")],
)
def test_roles_with_rights_change_only_after_reauthentication(
    client: Client, user: User, was: str, becomes: str
) -> None:
    member = MemberFactory.create(company=company_of(user).company, role=was)
    path = reverse("member-role", args=[member.pk])

    client.post(path, {"role": becomes})
    member.refresh_from_db()
    before = member.role
    confirm(client)
    client.post(path, {"role": becomes})

    member.refresh_from_db()
    assert (before, member.role) == (was, becomes)


def test_owner_is_removed_only_after_reauthentication(client: Client, user: User) -> None:
    member = MemberFactory.create(company=company_of(user).company)
    path = reverse("member-remove", args=[member.pk])

    client.post(path)

    assert Member.objects.filter(pk=member.pk).exists()


def test_live_webhook_url_changes_only_after_reauthentication(client: Client, user: User) -> None:
    company = company_of(user).company
    endpoint = EndpointFactory.create(company=company, url="https://ours.example.com/")
    form = {"url": "https://theirs.example.net/", "mode": "live", "kinds": ["message.delivered"]}

    assert is_asked(client, "webhook-create", form)
    client.post(reverse("webhook-edit", args=[endpoint.public_id]), form)

    assert list(company.endpoints.values_list("url", flat=True)) == ["https://ours.example.com/"]


def test_form_is_restored_after_reauthentication(client: Client) -> None:
    response = client.post(reverse("member-invite"), {"email": THIEF, "role": "owner"})
    then = re.search(r"next=(\S+)", response.headers["Location"])
    assert then is not None

    back = confirm(client, then=unquote(then[1]))
    page = client.get(back)

    assert page.context["form"]["email"].value() == THIEF
    assert page.context["form"]["role"].value() == "owner"
    assert not Invitation.objects.exists()


def test_pending_post_of_a_stolen_session_is_never_executed(client: Client) -> None:
    """allauth would keep it in the session and repeat it."""
    path = reverse("account_email")
    client.post(path, {"email": THIEF, "action_add": ""})

    confirm(client, then=path)

    assert not EmailAddress.objects.filter(email=THIEF).exists()


def test_draft_of_a_stolen_session_is_not_shown_to_the_owner(client: Client) -> None:
    client.post(reverse("member-invite"), {"email": THIEF, "role": "owner"})

    page = client.get(reverse("member-invite"))

    assert page.context["form"]["email"].value() is None


def test_draft_keeps_no_long_form_in_the_session(client: Client) -> None:
    """Spaces around a value count in no field's length, and anybody may have many sessions."""
    email = f"{THIEF}{' ' * 100_000}"

    asked = client.post(reverse("member-invite"), {"email": email, "role": "owner"})

    assert "reauthenticate" in asked["Location"]
    assert DRAFT not in client.session


def test_reauthentication_invalidates_copies_of_the_session(client: Client, user: User) -> None:
    thief = Client()
    thief.cookies = client.cookies.__class__(client.cookies.output(header=""))
    assert thief.get(reverse("overview")).status_code == 200

    confirm(client)

    assert client.get(reverse("overview")).status_code == 200
    assert thief.get(reverse("overview")).status_code == 302


def test_fifth_wrong_password_ends_the_session(client: Client) -> None:
    for _ in range(5):
        confirm(client, "not the password")
    assert client.get(reverse("overview")).status_code == 200

    confirm(client)  # the sixth try is not judged any more, right as it is

    assert client.get(reverse("overview")).status_code == 302


def test_failed_reauthentications_do_not_block_sign_in(client: Client, user: User) -> None:
    for _ in range(6):
        confirm(client, "not the password")

    assert signed_in(user).get(reverse("overview")).status_code == 200


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("mfa_reauthenticate", {"code": "000000"}),
        ("mfa_reauthenticate_webauthn", {"credential": PASSKEY}),
    ],
)
def test_wrong_factors_in_a_stolen_session_do_not_block_the_owner(
    client: Client, user: User, name: str, form: dict[str, str]
) -> None:
    add_second_factors(user)
    user.authenticator_set.filter(type="totp").delete()
    add_app(user)
    for _ in range(5):
        client.post(reverse(name), form)

    owner = signed_in(user)
    owner.post(reverse("mfa_authenticate"), {"code": code_now()})

    assert owner.get(reverse("overview")).status_code == 200


def test_wrong_codes_are_limited_without_redis(client: Client, user: User, no_redis: None) -> None:
    add_app(user)
    for _ in range(6):
        client.post(reverse("mfa_reauthenticate"), {"code": "000000"})

    assert client.get(reverse("overview")).status_code == 302


def test_successful_reauthentication_resets_failed_attempts(client: Client) -> None:
    for _ in range(3):
        for _ in range(3):
            confirm(client, "not the password")
        confirm(client)

    assert client.get(reverse("overview")).status_code == 200


def test_ending_other_sessions_keeps_failed_attempts(client: Client, user: User) -> None:
    """It requires no reauthentication: a thief could end them between two guesses."""
    for _ in range(5):
        confirm(client, "not the password")
        client.post(reverse("session-end-others"))

    confirm(client)

    assert client.get(reverse("overview")).status_code == 302


def test_account_without_credentials_is_sent_a_password_reset(client: Client, user: User) -> None:
    """The operator may remove an account's only passkey while a session lives on."""
    user.set_unusable_password()
    user.save()
    client.force_login(user)

    response = client.get(reverse("account_set_password"))

    assert response.headers["Location"] == reverse("account_reset_password")


def test_passkey_only_account_sets_password_by_passkey(user: User) -> None:
    add_second_factors(user)
    user.authenticator_set.filter(type="totp").delete()
    user.set_unusable_password()
    user.save()
    client = Client()
    client.force_login(user)

    response = client.get(reverse("account_set_password"))

    assert response.headers["Location"].startswith(reverse("mfa_reauthenticate_webauthn"))


def test_addresses_are_listed_read_only_without_reauthentication(client: Client) -> None:
    before = client.get(reverse("account_email")).content.decode()
    confirm(client)
    after = client.get(reverse("account_email")).content.decode()

    assert ("anna@example.com" in before, "action_add" in before) == (True, False)
    assert "action_add" in after


def test_password_is_reset_only_by_the_primary_address(user: User) -> None:
    add_address(user, "second@example.com")
    for email in ("second@example.com", "anna@example.com"):
        Client().post(reverse("account_reset_password"), {"email": email})

    assert "Новый пароль" in " ".join(emails_to("anna@example.com"))
    assert "Новый пароль" not in " ".join(emails_to("second@example.com"))


def test_password_is_not_reset_by_an_unconfirmed_primary_address(user: User) -> None:
    user.emailaddress_set.update(verified=False)
    add_address(user, "second@example.com")

    Client().post(reverse("account_reset_password"), {"email": "anna@example.com"})

    assert "Новый пароль" not in " ".join(emails_to("anna@example.com"))
