"""An owner sees a member's sessions, with masked addresses, and ends them; members are notified."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.test import Client
from django.urls import reverse

from accounts.models import Mail, Member, User, UserSession
from accounts.people import members
from accounts.people.members import mask_address
from tests.accounts.security.people import signed_in
from tests.api.blocking import start_blocked
from tests.api.races import at_once
from tests.factories import MemberFactory, UserFactory
from tests.reauthentication import mark_reauthenticated


@pytest.fixture
def owner(db: None) -> Member:
    return MemberFactory.create()


@pytest.fixture
def colleague(owner: Member) -> Member:
    return MemberFactory.create(company=owner.company, role="developer")


@pytest.fixture
def client(owner: Member, client: Client) -> Client:
    client.force_login(owner.user)
    mark_reauthenticated(client, owner.user)
    return client


def url(member: Member) -> str:
    return reverse("member-sessions", args=[member.pk])


def opened(member: Member) -> tuple[Client, UserSession]:
    theirs = signed_in(member.user)
    assert theirs.get(reverse("overview")).status_code == 200
    return theirs, UserSession.objects.get(session_key=theirs.session.session_key)


def is_in(client: Client) -> bool:
    return client.get(reverse("overview")).status_code == 200


def test_sessions_are_listed_with_masked_addresses(client: Client, colleague: Member) -> None:
    _theirs, session = opened(colleague)
    UserSession.objects.filter(pk=session.pk).update(ip="203.0.113.77")

    page = client.get(url(colleague)).content.decode()

    assert "Firefox, Linux" in page
    assert "203.0.*.*" in page
    assert "203.0.113" not in page


def test_one_session_is_ended_and_the_member_notified(
    client: Client, owner: Member, colleague: Member
) -> None:
    (first, session), (second, _other) = opened(colleague), opened(colleague)

    client.post(url(colleague), {"session": session.pk})

    assert not is_in(first)
    assert is_in(second)
    mail = Mail.objects.get(to=colleague.user.email)
    assert owner.user.email in mail.text
    assert "IP" not in mail.text
    assert owner.company.audit.get().action == "member.session_ended"
    client.post(url(colleague), {"session": session.pk})
    assert Mail.objects.filter(to=colleague.user.email).count() == 1


def test_all_sessions_are_ended(client: Client, colleague: Member) -> None:
    theirs = [opened(colleague)[0] for _number in range(2)]

    client.post(url(colleague), {"session": "all"})

    assert [is_in(their) for their in theirs] == [False, False]
    assert Mail.objects.filter(to=colleague.user.email).count() == 1


def test_ending_requires_reauthentication(client: Client, owner: Member, colleague: Member) -> None:
    theirs, session = opened(colleague)
    client.logout()
    client.force_login(owner.user)

    asked = client.post(url(colleague), {"session": session.pk})

    assert "reauthenticate" in asked.headers["Location"]
    assert is_in(theirs)


def test_sessions_of_strangers_are_out_of_reach(client: Client, colleague: Member) -> None:
    stranger = MemberFactory.create()
    theirs, session = opened(stranger)

    assert client.get(url(stranger)).status_code == 404
    assert client.post(url(stranger), {"session": session.pk}).status_code == 404
    client.post(url(colleague), {"session": session.pk})
    assert is_in(theirs)


@pytest.mark.parametrize("chosen", ["", "x", "-1", "9" * 30, "١"])
def test_odd_session_choices_end_no_session(client: Client, colleague: Member, chosen: str) -> None:
    theirs, _session = opened(colleague)

    assert client.post(url(colleague), {"session": chosen}).status_code == 302
    assert is_in(theirs)


def test_own_sessions_are_on_another_page(client: Client, owner: Member) -> None:
    assert client.get(url(owner)).headers["Location"] == reverse("session-list")
    assert client.post(url(owner), {"session": "all"}).headers["Location"] == reverse(
        "session-list"
    )
    assert is_in(client)


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("203.0.113.7", "203.0.*.*"),
        ("2001:db8::1", "2001:0db8:*"),
        ("::1", "0000:0000:*"),
        (None, "—"),
    ],
)
def test_address_is_masked(address: str | None, shown: str) -> None:
    assert mask_address(address) == shown


@pytest.mark.django_db(transaction=True)
def test_parallel_owners_send_one_email() -> None:
    owner = MemberFactory.create()
    member = MemberFactory.create(company=owner.company, role="viewer")
    opened(member)

    at_once([partial(members.end_all_sessions, member=member, user=owner.user)] * 2)

    assert Mail.objects.filter(to=member.user.email).count() == 1
    assert not UserSession.objects.filter(user=member.user).exists()


def _promotes(former: Member, colleague: Member, _guest: User) -> object:
    return members.change_role(member=colleague, role="owner", user=former.user)


def _removes(former: Member, colleague: Member, _guest: User) -> object:
    return members.remove(member=colleague, user=former.user)


def _invites(former: Member, _colleague: Member, guest: User) -> object:
    return members.invite(company=former.company, email=guest.email, role="owner", user=former.user)


def _is_joined(former: Member, _colleague: Member, guest: User) -> object:
    return members.join(invitation=former.company.invitations.get(), user=guest)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("act", [_promotes, _removes, _invites, _is_joined])
@pytest.mark.parametrize("end", ["removed", "demoted"])
def test_removed_owner_cannot_change_anything(
    act: Callable[[Member, Member, User], object], end: str
) -> None:
    """The owner's actions that began meanwhile wait for the removal."""
    owner = MemberFactory.create()
    former = MemberFactory.create(company=owner.company, role="owner")
    colleague = MemberFactory.create(company=owner.company, role="viewer")
    guest = UserFactory.create()
    if act is _is_joined:
        _invites(former, colleague, guest)
    mails = Mail.objects.filter(to=guest.email).count()
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            if end == "removed":
                members.remove(member=Member.objects.get(pk=former.pk), user=owner.user)
            else:
                members.change_role(
                    member=Member.objects.get(pk=former.pk), role="viewer", user=owner.user
                )
            began = start_blocked(pool, lambda: act(former, colleague, guest))
        assert isinstance(began.exception(), PermissionDenied) or began.result() is None

    roles = dict(owner.company.members.values_list("user", "role"))
    assert roles[owner.user.pk] == "owner"
    assert roles[colleague.user.pk] == "viewer"
    assert guest.pk not in roles
    assert Mail.objects.filter(to=guest.email).count() == mails
