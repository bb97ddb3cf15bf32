"""Letters that a person switched off do not come; a link in each ends its kind (RFC 8058)."""

from typing import Any

import pytest
from django.core import mail as sent
from django.core import signing
from django.test import Client
from django.urls import reverse

from accounts.models import AuditEvent, Mail, Member, User
from accounts.outbox import mail, mail_delivery
from accounts.outbox.mail import KIND_OF_TEMPLATE, UNSUBSCRIBE_SALT, NoticeKind, unsubscribe_link
from tests.factories import CompanyFactory, MemberFactory

pytestmark = pytest.mark.django_db

OWNERS = [Member.Role.OWNER]


def letter(member: Member, template: str = "balance_low") -> Mail | None:
    contexts: dict[str, dict[str, Any]] = {
        "balance_low": {"available": 5, "url": "https://x.example"},
        "company_approved": {"url": "https://x.example"},
    }
    Mail.objects.all().delete()
    mail.post_to_members(
        company=member.company, roles=OWNERS, template=template, context=contexts[template]
    )
    return Mail.objects.filter(to=member.user.email).first()


@pytest.fixture
def member() -> Member:
    return MemberFactory.create(role=Member.Role.OWNER)


def path(one: Mail | None) -> str:
    assert one is not None
    return "/" + one.unsubscribe_url.split("/", 3)[3]


def test_link_of_a_letter_ends_its_kind_and_no_other(client: Client, member: Member) -> None:
    address = path(letter(member))

    page = client.get(address)
    assert page.status_code == 200
    assert letter(member) is not None  # looking changes nothing: scanners follow every link

    answer = Client(enforce_csrf_checks=True).post(address, {"List-Unsubscribe": "One-Click"})

    assert answer.status_code == 200
    assert letter(member) is None
    member.user.refresh_from_db()
    assert member.user.muted_notices == ["balance"]
    assert AuditEvent.objects.get().action == "notices.muted"
    assert Client().post(address).status_code == 200  # twice is no fault
    assert User.objects.get().muted_notices == ["balance"]


def test_colleagues_still_get_theirs(member: Member) -> None:
    colleague = MemberFactory.create(company=member.company, role=Member.Role.OWNER)
    User.objects.filter(pk=member.user_id).update(muted_notices=["balance"])

    assert letter(member) is None
    assert Mail.objects.get().to == colleague.user.email


def test_letters_about_the_company_itself_cannot_be_switched_off(member: Member) -> None:
    User.objects.update(muted_notices=NoticeKind.values)

    one = letter(member, "company_approved")

    assert one is not None
    assert one.unsubscribe_url == ""
    assert "unsubscribe" not in one.text + one.html


def test_mail_program_is_told_of_the_link(member: Member) -> None:
    one = letter(member)
    assert one is not None
    assert one.unsubscribe_url in one.text
    assert one.unsubscribe_url in one.html

    mail_delivery.deliver()

    (message,) = sent.outbox
    assert message.extra_headers["List-Unsubscribe"] == f"<{one.unsubscribe_url}>"
    assert message.extra_headers["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert Mail.objects.get().unsubscribe_url == ""


@pytest.mark.parametrize("spoil", [lambda t: t[:-1], lambda t: "x" + t, lambda _t: "x", str.lower])
def test_token_that_we_did_not_sign_does_nothing(
    client: Client, member: Member, spoil: object
) -> None:
    token = unsubscribe_link(member.user, NoticeKind.BALANCE).rpartition("/")[2]

    answer = client.post(reverse("notice-unsubscribe", args=[spoil(token)]))  # type: ignore[operator]

    assert answer.status_code == 404
    assert User.objects.get().muted_notices == []


def test_token_of_another_purpose_does_nothing(client: Client, member: Member) -> None:
    other = signing.dumps([member.user_id, "balance"], salt="another purpose")
    gone = signing.dumps([member.user_id, "no such kind"], salt=UNSUBSCRIBE_SALT)

    for token in (other, gone):
        assert client.post(reverse("notice-unsubscribe", args=[token])).status_code == 404
    User.objects.update(is_active=False)
    address = reverse("notice-unsubscribe", args=[signing.dumps(
        [member.user_id, "balance"], salt=UNSUBSCRIBE_SALT
    )])  # fmt: skip
    assert client.post(address).status_code == 404


def test_other_methods_are_refused(client: Client, member: Member) -> None:
    assert client.put(path(letter(member))).status_code == 405


def test_choice_on_the_profile_is_kept(client: Client, member: Member) -> None:
    client.force_login(member.user)
    form = {"language": "ru", "time_zone": "", "notices": ["balance", "webhook"]}

    client.post(reverse("profile"), form)

    member.user.refresh_from_db()
    assert member.user.muted_notices == ["top_up", "documents", "delivery", "protection"]
    shown = client.get(reverse("profile")).context["form"]["notices"].value()
    assert shown == ["balance", "webhook"]


def test_every_kind_has_a_letter() -> None:
    assert set(KIND_OF_TEMPLATE.values()) == set(NoticeKind)


def test_company_of_another_is_not_touched(client: Client, member: Member) -> None:
    other = MemberFactory.create(company=CompanyFactory.create(), role=Member.Role.OWNER)

    client.post(path(letter(member)))

    other.user.refresh_from_db()
    assert other.user.muted_notices == []
