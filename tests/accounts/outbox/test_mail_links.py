"""Links in e-mails use PUBLIC_URL, whatever Host header the request had."""

import re

import pytest
from allauth.account.models import EmailAddress
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from accounts.models import Company, Mail, Member, User
from tests.factories import PASSWORD, MemberFactory

PUBLIC = "https://kvitok.example"
HOSTILE = {"host": "evil.example:8443", "x-forwarded-host": "evil.example"}
OWNER = "owner@example.com"
STRANGER = "stranger@example.com"
SIGN_UP = {"company": "Daisy", "country": "RU", "password1": "plum Tractor 81 seven"}


@pytest.fixture(autouse=True)
def _public_url(settings: Settings) -> None:
    settings.PUBLIC_URL = PUBLIC
    settings.ALLOWED_HOSTS = ["*"]
    settings.ACCOUNT_EMAIL_VERIFICATION = "mandatory"


@pytest.fixture
def owner(company: Company) -> User:
    user = MemberFactory.create(company=company, user__email=OWNER).user
    EmailAddress.objects.create(user=user, email=user.email, verified=True, primary=True)
    return user


@pytest.fixture
def hostile(owner: User) -> Client:
    return Client(headers=HOSTILE)


def links_of(mail: Mail) -> set[str]:
    return set(re.findall(r"https?://[^\s\"'<>]+", mail.text + mail.html))


def only_email(template: str) -> Mail:
    return Mail.objects.get(template=template)


def expect_links_of_ours(template: str) -> None:
    mail = only_email(template)

    assert {link for link in links_of(mail) if not link.startswith(f"{PUBLIC}")} == set()
    assert any(link.startswith(f"{PUBLIC}/") for link in links_of(mail))
    assert "evil" not in mail.subject + mail.text + mail.html


@pytest.mark.parametrize(
    ("page", "fields", "template"),
    [
        ("account_reset_password", {"email": OWNER}, "password_reset_key"),
        ("account_reset_password", {"email": STRANGER}, "unknown_account"),
        ("account_signup", SIGN_UP | {"email": STRANGER}, "email_confirmation_signup"),
        ("account_signup", SIGN_UP | {"email": OWNER}, "account_already_exists"),
    ],
)
def test_links_use_public_url_not_host_header(
    hostile: Client, page: str, fields: dict[str, str], template: str
) -> None:
    hostile.post(reverse(page), fields)

    expect_links_of_ours(f"account/email/{template}")


def test_notice_of_a_new_password_uses_public_url(hostile: Client) -> None:
    hostile.post(reverse("account_login"), {"login": OWNER, "password": PASSWORD})
    hostile.post(reverse("account_reauthenticate"), {"password": PASSWORD})
    new = {"oldpassword": PASSWORD, "password1": SIGN_UP["password1"]}
    hostile.post(reverse("account_change_password"), new | {"password2": new["password1"]})

    mail = only_email("account_change")
    assert links_of(mail) == {PUBLIC, f"{PUBLIC}{reverse('session-list')}"}
    assert "evil" not in mail.text + mail.html


def test_invitation_uses_public_url(hostile: Client) -> None:
    hostile.post(reverse("account_login"), {"login": OWNER, "password": PASSWORD})

    hostile.post(reverse("member-invite"), {"email": STRANGER, "role": Member.Role.VIEWER})

    expect_links_of_ours("invitation")
