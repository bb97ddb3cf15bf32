"""People are told by e-mail what changed in the security of their account."""

import pytest
from allauth.account.models import EmailConfirmationHMAC
from django.test import Client
from django.urls import reverse

from accounts.models import Mail, Member, User
from tests.accounts.security.people import (
    add_address,
    add_app,
    confirm,
    confirm_by_code,
    emails_to,
    make_person,
    signed_in,
)
from tests.factories import PASSWORD, ApiKeyFactory, MemberFactory
from tests.operator_admin.operators import code_now

pytestmark = pytest.mark.django_db

ANNA = "anna@example.com"
SECOND = "second@example.com"


@pytest.fixture
def user() -> User:
    return make_person(ANNA)


@pytest.fixture
def client(user: User) -> Client:
    client = signed_in(user)
    confirm(client)
    return client


def test_primary_address_is_notified_of_added_and_confirmed_addresses(
    client: Client, user: User
) -> None:
    client.post(reverse("account_email"), {"email": SECOND, "action_add": ""})
    key = EmailConfirmationHMAC(user.emailaddress_set.get(email=SECOND)).key
    Client().post(reverse("account_confirm_email", args=[key]))

    assert emails_to(ANNA) == [
        "К учётной записи добавлен адрес",
        "Адрес учётной записи подтверждён",
    ]
    mail = Mail.objects.filter(to=ANNA).order_by("created_at")[0]
    assert all(text in mail.text for text in (SECOND, "127.0.0.1", "Firefox, Linux"))
    assert SECOND in mail.html


@pytest.mark.parametrize(
    ("action", "subject"),
    [("primary", "Изменён основной адрес"), ("remove", "Из учётной записи удалён адрес")],
)
def test_both_addresses_are_notified_of_a_changed_or_removed_one(
    client: Client, user: User, action: str, subject: str
) -> None:
    add_address(user, SECOND)

    client.post(reverse("account_email"), {"email": SECOND, f"action_{action}": ""})

    assert len(emails_to(ANNA)) == 1
    assert emails_to(SECOND) == [subject]


def test_password_change_sends_a_notification(client: Client) -> None:
    new = "another long passphrase 7"
    form = {"oldpassword": PASSWORD, "password1": new, "password2": new}

    client.post(reverse("account_change_password"), form)

    assert emails_to(ANNA) == ["Ваш пароль изменён"]


@pytest.mark.django_db(transaction=True)
def test_factor_changes_send_notifications(client: Client, user: User) -> None:
    secret = client.get(reverse("mfa_activate_totp")).context["form"].secret
    client.post(reverse("mfa_activate_totp"), {"code": code_now(secret)})
    client.get(reverse("mfa_view_recovery_codes"))
    client.post(reverse("mfa_generate_recovery_codes"))
    client.post(reverse("mfa_deactivate_totp"))

    assert emails_to(ANNA) == [
        "Двухэтапный вход включён",
        "Показаны коды восстановления",
        "Новые коды восстановления",
        "Двухэтапный вход выключен",
    ]


def test_locked_session_sends_a_notification(user: User) -> None:
    client = signed_in(user)

    for _ in range(6):
        confirm(client, "wrong")

    assert emails_to(ANNA) == ["Кто-то пытался подтвердить, что он — это вы"]


@pytest.mark.parametrize(("mode", "emails"), [("live", 2), ("test", 0)])
def test_owners_and_the_creator_are_notified_of_live_keys(
    user: User, mode: str, emails: int
) -> None:
    company = user.memberships.get().company
    developer = make_person("dev@example.com")
    developer.memberships.update(company=company, role=Member.Role.DEVELOPER)
    MemberFactory.create(company=company, role=Member.Role.VIEWER)
    client = signed_in(developer)
    confirm(client)

    client.post(reverse("key-create"), {"name": "Site", "mode": mode, "scopes": ["otp"]})

    assert Mail.objects.count() == emails
    assert emails_to(ANNA) == emails_to("dev@example.com")


def test_rotation_of_a_live_key_sends_a_notification(client: Client, user: User) -> None:
    key = ApiKeyFactory.create(company=user.memberships.get().company)

    client.post(reverse("key-rotate", args=[key.pk]))

    assert emails_to(ANNA) == ["Заменён боевой API-ключ"]


def test_owners_are_notified_of_a_new_owner(client: Client, user: User) -> None:
    member = MemberFactory.create(company=user.memberships.get().company, role="viewer")
    path = reverse("member-role", args=[member.pk])

    client.post(reverse("member-invite"), {"email": SECOND, "role": "owner"})
    client.post(path, {"role": "owner"})
    client.post(path, {"role": "viewer"})

    assert emails_to(ANNA) == [
        "Приглашён владелец",
        "У компании новый владелец",
        "У компании стало на одного владельца меньше",
    ]
    assert emails_to(member.user.email) == emails_to(ANNA)[1:]


def test_notification_is_in_the_readers_language(client: Client, user: User) -> None:
    User.objects.filter(pk=user.pk).update(language="en")
    add_app(user)
    confirm_by_code(client)

    client.post(reverse("member-invite"), {"email": SECOND, "role": "owner"})

    assert emails_to(ANNA) == ["An owner was invited"]
