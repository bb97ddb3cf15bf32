"""The admin's pages of people and their memberships."""

from typing import Any

import pytest
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from django.contrib.auth.models import Group, Permission
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from accounts.models import AuditEvent, Member, User, UserSession
from tests.accounts.security.people import add_app, emails_to, make_person, signed_in
from tests.factories import PASSWORD, CompanyFactory, MemberFactory, UserFactory
from tests.operator_admin.operators import make_operator, sign_in

pytestmark = pytest.mark.django_db

THIEF = "thief@example.net"
NEW_PASSWORD = "another long passphrase 7"


@pytest.fixture
def operator(client: Client, settings: Settings) -> User:
    """An operator who signed in with the second factor an hour ago."""
    settings.OPERATOR_MFA = True
    user = make_operator()
    sign_in(client, user, "mfa", age=3600)
    return user


def add_address(client: Client, user: User) -> int:
    form = {"user": user.pk, "email": THIEF, "verified": "on", "primary": ""}
    return client.post(reverse("admin:account_emailaddress_add"), form).status_code


def add_owner(client: Client, user: User) -> None:
    form = {"company": CompanyFactory.create().pk, "user": user.pk, "role": "owner"}
    client.post(reverse("admin:accounts_member_add"), form)


def test_people_are_changed_only_after_a_fresh_proof(client: Client, operator: User) -> None:
    person = UserFactory.create()

    add_address(client, person)
    add_owner(client, person)
    opened = client.get(reverse("admin:auth_user_password_change", args=[person.pk]))

    assert not EmailAddress.objects.filter(email=THIEF).exists()
    assert not Member.objects.filter(user=person).exists()
    assert opened.headers["Location"].startswith(reverse("mfa_reauthenticate"))


def test_people_pages_need_no_factor(client: Client, operator: User) -> None:
    path = reverse("admin:accounts_user_change", args=[UserFactory.create().pk])

    assert client.get(path).status_code == 200


def test_changes_are_audited_and_mailed(client: Client, operator: User) -> None:
    person = make_person()
    sign_in(client, operator, "mfa")

    add_address(client, person)

    assert EmailAddress.objects.get(email=THIEF).user == person
    event = AuditEvent.objects.get(action="admin.added")
    assert (event.user, THIEF in event.subject) == (operator, True)
    assert emails_to(person.email) == ["Оператор изменил вашу учётную запись"]


def test_new_owner_is_mailed(client: Client, operator: User) -> None:
    person = make_person()
    sign_in(client, operator, "mfa")

    add_owner(client, person)

    assert emails_to(person.email) == ["У компании новый владелец"]


def test_account_switched_off_and_on_has_no_sessions(client: Client, operator: User) -> None:
    """As docs/operations/failures.md says of one that was taken over."""
    person = make_person()
    thief = signed_in(person)
    sign_in(client, operator, "mfa")
    page = reverse("admin:accounts_user_change", args=[person.pk])
    form = client.get(page).context["adminform"].form
    given = {name: form[name].value() or "" for name in ("email", "name", "language")}

    for switch in ({}, {"is_active": "on"}):
        client.post(page, given | switch)
        person.refresh_from_db()
        assert person.is_active is bool(switch)

    assert thief.get(reverse("overview")).status_code == 302


def test_factor_that_an_operator_resets_ends_the_sessions(client: Client, operator: User) -> None:
    person = make_person()
    theirs = signed_in(person)
    add_app(person)
    sign_in(client, operator, "mfa")
    factor = Authenticator.objects.get(user=person)

    client.post(reverse("admin:mfa_authenticator_delete", args=[factor.pk]), {"post": "yes"})

    assert theirs.get(reverse("overview")).status_code == 302
    assert emails_to(person.email) == ["Оператор изменил вашу учётную запись"]


def change_email(client: Client, person: User, email: str) -> Any:
    page = reverse("admin:accounts_user_change", args=[person.pk])
    form = client.get(page).context["adminform"].form
    shown = {field.name: field.value() for field in form if field.name != "password"}
    data = {name: value for name, value in shown.items() if value not in (None, False)}
    return client.post(page, data | {"email": email})


def test_old_mailbox_no_longer_opens_the_account(client: Client, operator: User) -> None:
    person = make_person()
    before = person.email
    now = "new@example.net"
    theirs = signed_in(person)
    sign_in(client, operator, "mfa")

    change_email(client, person, now)
    for address in (before, now):
        Client().post(reverse("account_reset_password"), {"email": address})

    assert [address.email for address in EmailAddress.objects.filter(user=person)] == [now]
    assert theirs.get(reverse("overview")).status_code == 302
    told = "Оператор изменил вашу учётную запись"
    reset = "Новый пароль"
    assert (emails_to(before)[:1], emails_to(now)) == ([told], [told, reset])
    assert reset not in emails_to(before)


def test_address_that_another_account_has_confirmed_is_refused(
    client: Client, operator: User
) -> None:
    person = make_person()
    EmailAddress.objects.create(user=UserFactory.create(), email=THIEF, verified=True)
    sign_in(client, operator, "mfa")

    response = change_email(client, person, THIEF)

    assert "email" in response.context["adminform"].form.errors
    assert User.objects.get(pk=person.pk).email == person.email


@pytest.fixture
def assistant(client: Client, settings: Settings) -> User:
    """An operator who is no administrator, with every permission on addresses and groups."""
    settings.OPERATOR_MFA = True
    user = make_operator()
    User.objects.filter(pk=user.pk).update(is_superuser=False)
    user = User.objects.get(pk=user.pk)
    kinds = ["emailaddress", "group"]
    user.user_permissions.set(Permission.objects.filter(content_type__model__in=kinds))
    sign_in(client, user, "mfa")
    return user


def test_addresses_of_administrators_are_theirs(client: Client, assistant: User) -> None:
    boss = make_person(user__is_superuser=True)
    address = EmailAddress.objects.get(user=boss)
    change = reverse("admin:account_emailaddress_change", args=[address.pk])
    delete = reverse("admin:account_emailaddress_delete", args=[address.pk])
    form = {"user": boss.pk, "email": THIEF, "verified": "on", "primary": "on"}

    statuses = [
        client.post(change, form).status_code,
        client.post(delete, {"post": "yes"}).status_code,
    ]
    refused = client.post(reverse("admin:account_emailaddress_add"), form)

    assert statuses == [403, 403]
    assert "user" in refused.context["adminform"].form.errors
    assert [email_address.email for email_address in EmailAddress.objects.filter(user=boss)] == [
        boss.email
    ]


@pytest.mark.parametrize(
    ("rights", "is_active", "may"),
    [([], True, True), (["change_wallet"], True, False), ([], False, False)],
    ids=["no more rights", "rights of money", "switched off"],
)
def test_operators_do_not_take_over_those_with_other_rights(
    client: Client, assistant: User, rights: list[str], *, is_active: bool, may: bool
) -> None:
    """An address, a password or no second factor opens the account, and all that it may do."""
    kinds = ["emailaddress", "user", "authenticator"]
    assistant.user_permissions.set(Permission.objects.filter(content_type__model__in=kinds))
    cashier = make_person(user__is_staff=True, user__is_active=is_active)
    cashier.user_permissions.set(Permission.objects.filter(codename__in=rights))
    add_app(cashier)
    factor = Authenticator.objects.get(user=cashier)
    address = EmailAddress.objects.get(user=cashier)
    own = EmailAddress.objects.get(user=make_person("own@example.com"))
    EmailAddress.objects.filter(pk=own.pk).update(primary=False)
    form = {"email": THIEF, "verified": "on", "primary": ""}

    responses = [
        client.post(reverse("admin:accounts_user_change", args=[cashier.pk]), {"email": THIEF}),
        client.post(reverse("admin:auth_user_password_change", args=[cashier.pk]), {}),
        client.post(reverse("admin:account_emailaddress_change", args=[address.pk]), {}),
        client.post(reverse("admin:mfa_authenticator_delete", args=[factor.pk]), {}),
    ]
    added = client.post(reverse("admin:account_emailaddress_add"), form | {"user": cashier.pk})
    path = reverse("admin:account_emailaddress_change", args=[own.pk])
    client.post(path, {"email": own.email, "verified": "on", "primary": "", "user": cashier.pk})

    assert [response.status_code == 403 for response in responses] == [not may] * 4
    assert (added.status_code == 302) is may
    assert (EmailAddress.objects.get(pk=own.pk).user == cashier) is may


def test_address_is_not_moved_to_an_administrator(client: Client, assistant: User) -> None:
    boss = make_person(user__is_superuser=True)
    own = make_person("own@example.com")
    address = EmailAddress.objects.get(user=own)
    EmailAddress.objects.filter(pk=address.pk).update(primary=False)
    path = reverse("admin:account_emailaddress_change", args=[address.pk])
    form = {"email": own.email, "verified": "on", "primary": ""}

    client.post(path, form | {"user": boss.pk})
    moved = EmailAddress.objects.get(pk=address.pk).user
    response = client.post(path, form | {"user": own.pk})

    assert (moved, response.status_code) == (own, 302)


def test_main_address_changes_only_on_its_users_page(client: Client, operator: User) -> None:
    person = make_person()
    address = EmailAddress.objects.get(user=person)
    sign_in(client, operator, "mfa")
    path = reverse("admin:account_emailaddress_change", args=[address.pk])

    saved = client.post(path, {"email": THIEF, "verified": "on", "user": operator.pk})

    address.refresh_from_db()
    assert saved.status_code == 302
    assert (address.user, address.email, address.primary) == (person, person.email, True)


def add_user(client: Client) -> None:
    form = {
        "email": THIEF,
        "usable_password": "true",
        "password1": NEW_PASSWORD,
        "password2": NEW_PASSWORD,
    }
    client.post(reverse("admin:accounts_user_add"), form)


def test_new_user_gets_no_address_of_another(client: Client, operator: User) -> None:
    EmailAddress.objects.create(user=make_person(), email=THIEF, verified=True, primary=False)
    sign_in(client, operator, "mfa")

    add_user(client)

    assert not User.objects.filter(email=THIEF).exists()


def test_address_of_a_new_user_is_confirmed(client: Client, operator: User) -> None:
    """Otherwise a sign-in would make it look like a stranger's, whom single sign-on replaces."""
    sign_in(client, operator, "mfa")

    add_user(client)

    address = EmailAddress.objects.get(user__email=THIEF)
    assert (address.email, address.verified, address.primary) == (THIEF, True, True)


def test_addresses_have_no_actions_for_many(client: Client, operator: User) -> None:
    person = make_person()
    EmailAddress.objects.filter(user=person).update(verified=False)
    sign_in(client, operator, "mfa")
    addresses = EmailAddress.objects.filter(user=person)

    form = {"action": "make_verified", "_selected_action": [address.pk for address in addresses]}
    client.post(reverse("admin:account_emailaddress_changelist"), form)

    assert not addresses.get().verified


def test_groups_are_changed_only_by_administrators(client: Client, assistant: User) -> None:
    group = Group.objects.create(name="Support")
    assistant.groups.add(group)
    everything = [permission.pk for permission in Permission.objects.all()]
    path = reverse("admin:auth_group_change", args=[group.pk])

    changed = client.post(path, {"name": "Support", "permissions": everything})
    added = client.post(reverse("admin:auth_group_add"), {"name": "Other"})
    deleted = client.post(reverse("admin:auth_group_delete", args=[group.pk]), {"post": "yes"})

    assert [response.status_code for response in (changed, added, deleted)] == [403] * 3
    assert (group.permissions.count(), Group.objects.count()) == (0, 1)


def test_changes_of_groups_are_audited(client: Client, operator: User) -> None:
    sign_in(client, operator, "mfa")

    client.post(reverse("admin:auth_group_add"), {"name": "Support"})

    event = AuditEvent.objects.get(action="admin.added")
    assert (event.user, "Support" in event.subject) == (operator, True)


def test_own_password_is_changed_on_the_cabinet_page(client: Client, operator: User) -> None:
    form = {"old_password": PASSWORD, "new_password1": NEW_PASSWORD, "new_password2": NEW_PASSWORD}

    response = client.post(reverse("admin:password_change"), form)

    operator.refresh_from_db()
    assert response.headers["Location"] == reverse("account_change_password")
    assert operator.check_password(PASSWORD)


def test_signing_out_of_the_admin_is_audited(client: Client, operator: User) -> None:
    client.get(reverse("admin:index"))
    assert UserSession.objects.filter(user=operator).exists()

    client.get(reverse("admin:logout"))
    stayed = "_auth_user_id" in client.session
    client.post(reverse("admin:logout"))

    assert (stayed, "_auth_user_id" in client.session) == (True, False)
    assert list(AuditEvent.objects.values_list("action", "user")) == [("logout", operator.pk)]
    assert not UserSession.objects.filter(user=operator).exists()


def test_only_owner_is_deleted_after_a_warning(client: Client, operator: User) -> None:
    owner = make_person()
    member = owner.memberships.get()
    member.company.name = "ООО «Ромашка»"
    member.company.save()
    sign_in(client, operator, "mfa")
    pages = [("user", owner.pk), ("member", member.pk)]
    addresses = [reverse(f"admin:accounts_{name}_delete", args=[pk]) for name, pk in pages]
    warning = "единственный владелец компании «ООО „Ромашка“»."

    assert [warning in client.get(page).content.decode() for page in addresses] == [True, True]
    MemberFactory.create(company=member.company, role="owner")
    assert [warning in client.get(page).content.decode() for page in addresses] == [False, False]
