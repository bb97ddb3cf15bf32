"""Rights by groups of the provider, set at each sign-in and effective only in its sessions."""

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from accounts.models import AuditEvent, Company, Member, User
from accounts.oidc import tokens
from accounts.people import members
from config.environment.oidc_settings import parse_roles
from tests.accounts.oidc.sign_ins import connect, sign_in, signed_in
from tests.accounts.security.people import emails_to, make_person
from tests.accounts.security.people import signed_in as by_password
from tests.factories import CompanyFactory, MemberFactory
from tests.identity_provider import IdentityProvider

pytestmark = pytest.mark.django_db


@pytest.fixture
def anna(provider: IdentityProvider) -> User:
    """A user with a company and a password, whose identity is connected."""
    user = make_person()
    connect(user, "anna")
    return user


def roles_of(user: User) -> dict[str, str]:
    return dict(user.memberships.values_list("company__name", "role"))


def actions(company: Company | None) -> list[str]:
    rows = AuditEvent.objects.filter(company=company).order_by("id")
    return list(rows.values_list("action", flat=True))


def test_groups_grant_change_and_withdraw_a_role(
    provider: IdentityProvider, acme: Company, anna: User
) -> None:
    provider.person("anna", "acme-devs")
    signed_in("anna")
    first = roles_of(anna)["Acme"]
    provider.person("anna", "acme-owners")
    signed_in("anna")
    second = roles_of(anna)["Acme"]
    provider.person("anna")
    signed_in("anna")

    assert (first, second) == ("developer", "owner")
    assert "Acme" not in roles_of(anna)
    assert actions(acme) == ["member.joined", "member.role_changed", "member.removed"]


def test_first_role_of_a_company_counts(
    provider: IdentityProvider, acme: Company, anna: User
) -> None:
    provider.person("anna", "acme-devs", "acme-owners")

    signed_in("anna")

    assert roles_of(anna)["Acme"] == "owner"


def test_role_granted_here_stays(provider: IdentityProvider, acme: Company, anna: User) -> None:
    MemberFactory.create(company=acme, user=anna, role=Member.Role.VIEWER)
    provider.person("anna", "acme-owners")
    signed_in("anna")
    with_group = roles_of(anna)["Acme"]
    provider.person("anna")
    signed_in("anna")

    assert with_group == "viewer"
    assert roles_of(anna)["Acme"] == "viewer"


def test_role_of_a_group_does_not_count_after_a_password(
    provider: IdentityProvider, acme: Company, anna: User
) -> None:
    provider.person("anna", "acme-owners")
    signed_in("anna")

    page = by_password(anna).get("/cabinet/").content.decode()

    assert "Acme" not in page


def test_group_member_is_sent_to_provider_after_password(
    provider: IdentityProvider, acme: Company, anna: User
) -> None:
    anna.memberships.all().delete()
    provider.person("anna", "acme-owners")
    signed_in("anna")
    client = by_password(anna)

    locations = [client.get(path)["Location"] for path in ("/cabinet/keys", "/cabinet/company/new")]

    assert locations[0] == "/account/sso/required?next=%2Fcabinet%2Fkeys"
    assert locations[1].startswith("/account/sso/required")


def test_only_owner_by_a_group_is_removed_too(
    provider: IdentityProvider, acme: Company, anna: User
) -> None:
    provider.person("anna", "acme-owners")
    signed_in("anna")
    provider.person("anna")
    signed_in("anna")

    assert not acme.members.exists()
    assert len(emails_to(anna.email)) == 2


def test_role_by_a_group_cannot_be_changed_here(
    provider: IdentityProvider, acme: Company, anna: User
) -> None:
    provider.person("anna", "acme-devs")
    signed_in("anna")
    owner = MemberFactory.create(company=acme)
    client = by_password(owner.user)
    member = acme.members.get(user=anna)

    client.post(reverse("member-role", args=[member.pk]), {"role": "viewer"})
    removal = client.post(reverse("member-remove", args=[member.pk]), follow=True)

    assert acme.members.get(user=anna).role == "developer"
    assert "группа единого входа" in removal.content.decode()
    listed = client.get(reverse("member-list")).content.decode()
    assert reverse("member-role", args=[member.pk]) not in listed
    assert "через единый вход" in listed


def test_operator_rights_are_granted_and_withdrawn(
    provider: IdentityProvider, acme: Company, anna: User
) -> None:
    support = Group.objects.create(name="Support")
    provider.person("anna", "operators")
    signed_in("anna")
    anna.refresh_from_db()
    given = (anna.is_staff, anna.is_superuser, list(anna.groups.all()))
    provider.person("anna")
    signed_in("anna")
    anna.refresh_from_db()

    assert given == (True, False, [support])
    assert (anna.is_staff, anna.is_superuser, list(anna.groups.all())) == (False, False, [])
    subjects = AuditEvent.objects.filter(action="operator.changed").order_by("id")
    assert [subject.subject for subject in subjects] == ["— → staff, Support", "staff, Support → —"]


def test_superuser_needs_separate_group(
    provider: IdentityProvider, acme: Company, anna: User
) -> None:
    provider.person("anna", "operators", "admins")
    signed_in("anna")
    anna.refresh_from_db()
    before = anna.is_superuser
    provider.person("anna", "operators")
    signed_in("anna")
    anna.refresh_from_db()

    assert before
    assert (anna.is_staff, anna.is_superuser) == (True, False)


def test_operator_rights_granted_here_stay(
    provider: IdentityProvider, acme: Company, anna: User
) -> None:
    anna.is_staff = True
    anna.is_superuser = True
    anna.save()

    signed_in("anna")

    anna.refresh_from_db()
    assert (anna.is_staff, anna.is_superuser, anna.is_staff_from_provider) == (True, True, False)


def test_inactive_user_gets_nothing(provider: IdentityProvider, acme: Company, anna: User) -> None:
    User.objects.update(is_active=False)
    provider.person("anna", "admins", "acme-owners")

    sign_in(Client(), "anna")

    anna.refresh_from_db()
    assert not anna.is_staff
    assert "Acme" not in roles_of(anna)


def test_company_that_is_gone_grants_nothing(
    provider: IdentityProvider, settings: Settings, anna: User
) -> None:
    settings.OIDC_ROLES = parse_roles("ghosts=owner:999999")
    provider.person("anna", "ghosts")

    assert signed_in("anna").get("/cabinet/").status_code == 200


def test_withdrawn_role_closes_sessions_that_are_open(
    provider: IdentityProvider, acme: Company, anna: User
) -> None:
    provider.person("anna", "acme-owners")
    client = signed_in("anna")
    before = "Acme" in client.get("/cabinet/").content.decode()
    provider.person("anna")
    signed_in("anna")

    assert before
    assert "Acme" not in client.get("/cabinet/").content.decode()


def test_member_without_a_group_can_be_invited_again(
    provider: IdentityProvider, acme: Company, anna: User
) -> None:
    owner = MemberFactory.create(company=acme).user
    invitation = members.invite(company=acme, email=anna.email, role="viewer", user=owner)
    members.join(invitation=invitation, user=anna)

    signed_in("anna")

    assert roles_of(anna)["Acme"] == "viewer"


def test_accepted_invitation_outlasts_the_role_of_a_group(
    provider: IdentityProvider, acme: Company, anna: User
) -> None:
    owner = MemberFactory.create(company=acme).user
    invitation = members.invite(company=acme, email=anna.email, role="accountant", user=owner)
    provider.person("anna", "acme-owners")
    signed_in("anna")

    members.join(invitation=invitation, user=anna)

    invited = roles_of(anna)["Acme"]
    provider.person("anna")
    signed_in("anna")
    assert (invited, roles_of(anna)["Acme"]) == ("accountant", "accountant")


@pytest.mark.parametrize(
    ("found", "path", "groups"),
    [
        ({"groups": ["a", "b"]}, "groups", {"a", "b"}),
        ({"groups": "a"}, "groups", {"a"}),
        ({"groups": ["a", 1, None, ["b"]]}, "groups", {"a"}),
        ({"groups": {"a": True}}, "groups", set()),
        ({}, "groups", set()),
        ({"realm_access": {"roles": ["a"]}}, "realm_access.roles", {"a"}),
        ({"realm_access": ["a"]}, "realm_access.roles", set()),
        ({"https://acme.example/groups": ["a"]}, "https://acme.example/groups", {"a"}),
    ],
)
def test_groups_are_read_from_the_claim(
    settings: Settings, found: tokens.Claims, path: str, groups: set[str]
) -> None:
    settings.OIDC_GROUPS_CLAIM = path

    assert tokens.groups(found) == groups


@pytest.mark.parametrize(
    ("methods", "is_trusted"),
    [
        (["pwd", "otp"], True),
        ("otp", True),
        (["pwd"], False),
        ("pwd", False),
        (None, False),
        ([None, ["otp"]], False),
        ({"otp": True}, False),
        ("pwd otp", False),
    ],
)
def test_authentication_methods_are_read_as_list_or_string(
    settings: Settings, methods: object, is_trusted: bool
) -> None:
    settings.OIDC_TRUSTED_AMR = frozenset({"otp"})

    assert tokens.has_trusted_factor({"amr": methods}) == is_trusted


@pytest.mark.parametrize(
    ("found", "is_verified"),
    [(True, True), ("true", True), (False, False), ("false", False), (1.5, False), (None, False)],
)
def test_address_is_confirmed_by_a_true_value(found: object, is_verified: bool) -> None:
    assert tokens.is_email_verified({"email_verified": found}) == is_verified


def test_companies_of_others_are_untouched(
    provider: IdentityProvider, acme: Company, anna: User
) -> None:
    other = MemberFactory.create(company=CompanyFactory.create(name="Other"), from_provider=True)

    signed_in("anna")

    assert Member.objects.filter(pk=other.pk).exists()


@pytest.mark.parametrize(("address", "is_verified"), [("x@example.com", False), ("a@b.kz", True)])
def test_user_information_verifies_only_its_own_address(address: str, *, is_verified: bool) -> None:
    merged = tokens.merge({"email": "a@b.kz"}, {"email": address, "email_verified": True})

    assert merged["email"] == "a@b.kz"
    assert tokens.is_email_verified(merged) == is_verified
