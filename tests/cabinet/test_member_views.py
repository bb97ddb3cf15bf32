"""Members are invited, join, change their role and leave."""

import re
from datetime import timedelta

import pytest
import time_machine
from django.contrib.sessions.models import Session
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from accounts.models import Company, Invitation, Mail, Member, User
from accounts.people import members
from tests.api.races import at_once
from tests.factories import InvitationFactory, MemberFactory, UserFactory
from tests.reauthentication import mark_reauthenticated

EMAIL = "anna@example.com"


def invite(client: Client, email: str = EMAIL, role: str = "developer") -> str:
    """Invites, and returns the path of the link in the e-mail."""
    response = client.post(reverse("member-invite"), {"email": email, "role": role})
    assert response.status_code == 302
    mail = Mail.objects.filter(template="invitation").order_by("-pk")[0]
    match = re.search(r"http\S+?(/cabinet/join/\S+)", mail.text)
    assert match is not None
    return match[1]


def joined(company: Company, email: str = EMAIL) -> str | None:
    member = company.members.filter(user__email=email).first()
    return member.role if member else None


def test_invited_colleague_joins_with_the_role(client: Client, owner: Member) -> None:
    link = invite(client)
    client.force_login(UserFactory.create(email=EMAIL.upper()))

    page = client.get(link)
    response = client.post(link)

    assert "Присоединиться" in page.content.decode()
    assert response.headers["Location"] == reverse("overview")
    assert joined(owner.company, EMAIL.upper()) == "developer"
    assert client.get(link).status_code == 410


def test_new_person_signs_up_without_a_company_of_their_own(client: Client, owner: Member) -> None:
    link = invite(client)
    client.logout()
    client.get(link)

    form = client.get(reverse("account_signup")).context["form"]
    client.post(
        reverse("account_signup"),
        {"email": EMAIL, "password1": "a long new password", "next": link},
    )
    page = client.get(reverse("overview"), follow=True)
    client.post(link)

    assert list(form.fields) == ["email", "password1"]
    assert form["email"].value() == EMAIL
    assert page.redirect_chain[-1][0] == link
    assert (joined(owner.company), Company.objects.count()) == ("developer", 1)


def test_invitation_link_works_for_its_address_only(client: Client, owner: Member) -> None:
    link = invite(client)
    client.force_login(UserFactory.create())

    page = client.get(link)
    client.post(link)

    assert EMAIL in page.content.decode()
    assert owner.company.members.count() == 1


@pytest.mark.parametrize("days", [6, 8])
def test_link_is_good_for_seven_days(client: Client, owner: Member, days: int) -> None:
    link = invite(client)
    client.force_login(UserFactory.create(email=EMAIL))

    with time_machine.travel(timezone.now() + timedelta(days=days)):
        client.force_login(User.objects.get(email=EMAIL))
        client.post(link)

    assert joined(owner.company) == ("developer" if days < 7 else None)


def test_invitation_of_somebody_else_keeps_nobody_from_a_company(
    client: Client, owner: Member
) -> None:
    link = invite(client)
    stranger = Client()
    stranger.get(link)
    stranger.force_login(UserFactory.create())

    page = stranger.get(reverse("company-create"))

    assert page.status_code == 200


def test_second_invitation_revokes_the_first(client: Client, owner: Member) -> None:
    first = invite(client, role="owner")
    with time_machine.travel(timezone.now() + timedelta(seconds=2)):
        second = invite(client, role="viewer")
    client.force_login(UserFactory.create(email=EMAIL))

    assert client.get(first).status_code == 410
    client.post(second)
    assert joined(owner.company) == "viewer"


def test_visitors_of_an_invitation_open_few_sessions(
    client: Client, owner: Member, settings: Settings
) -> None:
    """A person with a link could fill the table of sessions: each visit without a cookie is one."""
    settings.ACCOUNT_RATE_LIMITS = settings.ACCOUNT_RATE_LIMITS | {"invitation": "2/m/ip"}
    link = invite(client)
    before = Session.objects.count()

    statuses = [Client().get(link).status_code for _visit in range(4)]

    assert statuses == [200, 200, 429, 429]
    assert Session.objects.count() == before + 2


def test_invitation_is_revoked(client: Client, owner: Member) -> None:
    link = invite(client)

    client.post(reverse("invitation-revoke", args=[Invitation.objects.get().pk]))

    assert client.get(link).status_code == 410
    assert list(client.get(reverse("member-list")).context["invitations"]) == []


@pytest.mark.parametrize("token", ["junk", "WzEsMV0:1abc:sig"])
def test_forged_invitation_link_is_refused(client: Client, db: None, token: str) -> None:
    response = client.get(reverse("invitation-join", args=[token]))

    assert response.status_code == 410
    assert "больше не действует" in response.content.decode()


@pytest.mark.parametrize(("status", "most"), [("approved", 20), ("pending", 3)])
def test_invitations_are_limited_per_day(
    client: Client, owner: Member, status: str, most: int
) -> None:
    Company.objects.filter(pk=owner.company_id).update(status=status)
    InvitationFactory.create_batch(most, company=owner.company)

    response = client.post(reverse("member-invite"), {"email": EMAIL, "role": "viewer"})

    assert f"За сутки отправлено приглашений: {most}" in response.content.decode()
    assert not Mail.objects.exists()


def test_role_is_changed(client: Client, owner: Member) -> None:
    member = MemberFactory.create(company=owner.company, role="viewer")

    client.post(reverse("member-role", args=[member.pk]), {"role": "accountant"})

    member.refresh_from_db()
    assert member.role == "accountant"
    assert owner.company.audit.get().action == "member.role_changed"


@pytest.mark.parametrize("action", ["member-role", "member-remove"])
def test_last_owner_cannot_be_removed(client: Client, owner: Member, action: str) -> None:
    MemberFactory.create(company=owner.company, role="developer")

    response = client.post(reverse(action, args=[owner.pk]), {"role": "viewer"}, follow=True)

    owner.refresh_from_db()
    assert owner.role == "owner"
    assert "должен быть владелец" in response.content.decode()


def test_one_of_two_owners_can_leave(client: Client, owner: Member) -> None:
    MemberFactory.create(company=owner.company)

    response = client.post(reverse("member-remove", args=[owner.pk]))

    assert response.headers["Location"] == reverse("overview")
    assert owner.company.members.count() == 1
    assert client.get(reverse("key-list")).headers["Location"] == reverse("company-create")


@pytest.mark.parametrize("role", ["developer", "accountant", "viewer"])
def test_members_may_leave_but_not_remove_others(client: Client, owner: Member, role: str) -> None:
    member = MemberFactory.create(company=owner.company, role=role)
    client.force_login(member.user)

    others = client.post(reverse("member-remove", args=[owner.pk]))
    own_page = client.get(reverse("member-remove", args=[member.pk]))
    client.post(reverse("member-remove", args=[member.pk]))

    assert (others.status_code, own_page.status_code) == (403, 200)
    assert list(owner.company.members.all()) == [owner]


def test_removed_member_sees_nothing_any_more(client: Client, owner: Member) -> None:
    member = MemberFactory.create(company=owner.company, role="developer")
    other = Client()
    other.force_login(member.user)
    before = other.get(reverse("key-list")).status_code

    client.post(reverse("member-remove", args=[member.pk]))

    assert before == 200
    assert other.get(reverse("key-list")).headers["Location"] == reverse("company-create")


@pytest.mark.parametrize("ended", ["demoted", "removed", "left", "switched off"])
def test_invitations_end_with_the_rights_of_their_creator(
    client: Client, owner: Member, ended: str
) -> None:
    """A removed member cannot return through a second mailbox."""
    creator = MemberFactory.create(company=owner.company)
    client.force_login(creator.user)
    mark_reauthenticated(client, creator.user)
    link = invite(client)
    invitation = Invitation.objects.get(email=EMAIL)
    if ended == "demoted":
        members.change_role(member=creator, role="viewer", user=owner.user)
    elif ended == "switched off":
        User.objects.filter(pk=creator.user_id).update(is_active=False)
    else:
        members.remove(member=creator, user=owner.user if ended == "removed" else creator.user)
    invited = UserFactory.create(email=EMAIL)
    client.force_login(invited)

    statuses = [client.get(link).status_code, client.post(link).status_code]

    assert statuses == [410, 410]
    assert members.join(invitation=invitation, user=invited) is None
    assert joined(owner.company) is None
    client.force_login(owner.user)
    assert EMAIL not in client.get(reverse("member-list")).content.decode()


@pytest.mark.parametrize("is_removed", [False, True])
def test_owner_once_more_brings_back_no_invitation(
    client: Client, owner: Member, *, is_removed: bool
) -> None:
    creator = MemberFactory.create(company=owner.company)
    client.force_login(creator.user)
    mark_reauthenticated(client, creator.user)
    link = invite(client, role="owner")
    if is_removed:
        members.remove(member=creator, user=owner.user)
        MemberFactory.create(company=owner.company, user=creator.user)
    else:
        members.change_role(member=creator, role="viewer", user=owner.user)
        members.change_role(member=creator, role="owner", user=owner.user)

    assert client.get(link).status_code == 410


def test_owner_who_cannot_sign_in_is_not_the_other_owner(owner: Member) -> None:
    MemberFactory.create(company=owner.company, user__is_active=False)

    with pytest.raises(ValidationError):
        members.remove(member=owner, user=owner.user)


def test_leaving_checks_the_current_role(company: Company, owner: Member) -> None:
    leaving = MemberFactory.create(company=company, role="developer")
    Member.objects.filter(pk=leaving.pk).update(role="owner")
    owner.delete()

    with pytest.raises(ValidationError):
        members.remove(member=leaving, user=leaving.user)


@pytest.mark.django_db(transaction=True)
def test_two_owners_cannot_remove_each_other_at_once(company: Company) -> None:
    one, other = MemberFactory.create_batch(2, company=company)

    def remove(member: Member, by: Member) -> str:
        try:
            members.remove(member=member, user=by.user)
        except ValidationError as error:
            return str(error.code)
        return "removed"

    results = at_once([lambda: remove(one, other), lambda: remove(other, one)])

    assert sorted(results) == ["last_owner", "removed"]


@pytest.mark.django_db(transaction=True)
def test_member_who_has_just_gone_is_not_an_error(owner: Member) -> None:
    gone = MemberFactory.create(company=owner.company, role="viewer")
    stale = Member.objects.get(pk=gone.pk)
    members.remove(member=gone, user=owner.user)

    members.change_role(member=stale, role="developer", user=owner.user)
    members.remove(member=stale, user=owner.user)
    members.withdraw(member=stale)

    assert list(owner.company.audit.values_list("action", flat=True)) == ["member.removed"]
