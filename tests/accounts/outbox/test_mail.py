"""E-mails are queued in the outbox, in the recipient's language."""

import threading
from collections import Counter
from functools import partial
from typing import Any

import pytest
from django.core import mail as sent
from django.core import signing
from django.db import transaction
from django.test import Client
from django.urls import reverse

from accounts.models import AuditEvent, Company, Mail, Member, User
from accounts.outbox import mail
from accounts.outbox.mail import UNSUBSCRIBE_SALT, NoticeKind, subject_and_text, unsubscribe_link
from tests.api.races import TIMEOUT, at_once
from tests.factories import EndpointFactory, MemberFactory, UserFactory

pytestmark = pytest.mark.django_db

PAGE = "https://kvitok.example/cabinet/webhooks/1"


@pytest.fixture
def context(company: Company) -> dict[str, Any]:
    endpoint = EndpointFactory.create(company=company, disabled_reason="gone")
    return {"company": company, "endpoint": endpoint, "page_url": PAGE}


def post(context: dict[str, Any], language: str = "ru", key: str | None = None) -> None:
    to = "person@example.com"
    mail.post(template="endpoint_disabled", to=to, language=language, context=context, key=key)


@pytest.mark.parametrize(
    ("language", "subject", "greeting"),
    [
        ("ru", "Kvitok: вебхуки отключены", "Здравствуйте!"),
        ("en", "Kvitok: webhooks are switched off", "Hello!"),
    ],
)
def test_email_is_translated(
    context: dict[str, Any], language: str, subject: str, greeting: str
) -> None:
    post(context, language)

    email = Mail.objects.get()
    assert (email.to, email.subject) == ("person@example.com", subject)
    assert email.text.startswith(f"{greeting}\n\n")
    for part in (email.text, email.html):
        assert "Ромашка" in part
        assert PAGE in part
    assert email.due_at is not None


def test_email_key_is_unique(context: dict[str, Any]) -> None:
    post(context, key="once")
    post(context, key="once")
    post(context, key="twice")
    post(context)
    post(context)

    assert sorted(Mail.objects.values_list("key", flat=True), key=str) == [
        None,
        None,
        "once",
        "twice",
    ]


def test_rolled_back_transaction_leaves_no_email(context: dict[str, Any]) -> None:
    with transaction.atomic():
        post(context)
        transaction.set_rollback(True)

    assert not Mail.objects.exists()


def test_members_with_a_role_get_emails_in_their_language(
    company: Company, context: dict[str, Any]
) -> None:
    owner = MemberFactory.create(company=company)
    english = UserFactory.create(language="en")
    MemberFactory.create(company=company, role=Member.Role.DEVELOPER, user=english)
    MemberFactory.create(company=company, role=Member.Role.VIEWER)
    MemberFactory.create(company=company, user=UserFactory.create(is_active=False))
    MemberFactory.create()

    for _ in range(2):
        mail.post_to_members(
            company=company,
            roles=[Member.Role.OWNER, Member.Role.DEVELOPER],
            template="endpoint_disabled",
            context=context,
            key="off:1",
        )

    assert dict(Mail.objects.values_list("to", "subject")) == {
        owner.user.email: "Kvitok: вебхуки отключены",
        english.email: "Kvitok: webhooks are switched off",
    }
    assert Mail.objects.count() == 2


def test_subject_is_one_line(db: None) -> None:
    mail.append(template="any", to="a@example.com", subject="One\nBcc: x@example.com\n", text="t")

    assert Mail.objects.get().subject == "One Bcc: x@example.com"


def text_of(body: str) -> str:
    return subject_and_text(f"<title>Hi</title><table><tr><td>{body}</td></tr></table>")[1]


def test_subject_is_the_title_unescaped() -> None:
    page = "<style>p > a {}</style><title>\n A &amp;&#x27;&lt;b&gt; </title><td><p>One</p></td>"

    assert subject_and_text(page) == ("A &'<b>", "One")


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<p>One\n  two</p>\n  <p>Three</p>", "One two\n\nThree"),
        ("<p>One<br> two<br><br>three</p>", "One\ntwo\nthree"),
        ("<p>It did:</p><ul> <li>a</li>\n <li>b</li> </ul><p>End</p>", "It did:\n– a\n– b\n\nEnd"),
        (
            "<p>See: <a href='https://a/?x=1&amp;y'>https://a/?x=1&amp;y</a></p>",
            "See: https://a/?x=1&y",
        ),
        (
            "<p>Two<br><a href='https://a/'>A</a> <a href='https://b/'>B</a></p>",
            "Two\nA: https://a/\nB: https://b/",
        ),
        ("<p><a href='mailto:help@a.example'>Support</a></p>", "Support: help@a.example"),
        ("<p>One</p><tfoot><tr><td>Two</td></tr></tfoot>", "One\n\n—\nTwo"),
        ("<p>1\xa0000\xa0\u2014 1\u202f000</p>", "1\xa0000\xa0\u2014 1\u202f000"),
        ("<p>a\u2028b\x85c\x0bd\x0ce</p>", "a b c d e"),
    ],
)
def test_elements_become_lines(body: str, text: str) -> None:
    assert text_of(body) == text


def test_html_only_parts_are_left_out_of_the_plain_text() -> None:
    button = "<table class='x html-only'><tr><td><a href='https://a/'>Go</a></td></tr></table>"

    assert (
        text_of(f"<p>One</p>{button}<p><span class='html-only'>or<br></span>two</p>")
        == "One\n\ntwo"
    )


OWNERS = [Member.Role.OWNER]


def email(member: Member, template: str = "balance_low") -> Mail | None:
    contexts: dict[str, dict[str, Any]] = {
        "balance_low": {"available": 5, "url": "https://x.example"},
        "company_approved": {"url": "https://x.example"},
    }
    Mail.objects.all().delete()
    mail.post_to_members(
        company=member.company,
        roles=OWNERS,
        template=template,
        context=contexts[template],
        kind=NoticeKind.BALANCE if template == "balance_low" else None,
    )
    return Mail.objects.filter(to=member.user.email).first()


@pytest.fixture
def member() -> Member:
    return MemberFactory.create(role=Member.Role.OWNER)


def path(one: Mail | None) -> str:
    assert one is not None
    return "/" + one.unsubscribe_url.split("/", 3)[3]


def test_unsubscribe_link_switches_off_only_its_kind(client: Client, member: Member) -> None:
    address = path(email(member))

    page = client.get(address)
    assert page.status_code == 200
    assert email(member) is not None  # looking changes nothing: scanners follow every link

    for _ in range(2):  # mail programs try again; it is recorded once
        response = Client(enforce_csrf_checks=True).post(address, {"List-Unsubscribe": "One-Click"})
        assert response.status_code == 200

    assert email(member) is None
    member.user.refresh_from_db()
    assert member.user.muted_notices == ["balance"]
    assert AuditEvent.objects.get().action == "notices.muted"
    assert Client().post(address).status_code == 200  # twice is no fault
    assert User.objects.get().muted_notices == ["balance"]


def test_emails_about_the_company_itself_cannot_be_switched_off(member: Member) -> None:
    User.objects.update(muted_notices=NoticeKind.values)

    posted = email(member, "company_approved")

    assert posted is not None
    assert posted.unsubscribe_url == ""
    assert "unsubscribe" not in posted.text + posted.html


def test_headers_offer_the_unsubscribe_link(member: Member) -> None:
    posted = email(member)
    assert posted is not None
    assert posted.unsubscribe_url in posted.text
    assert posted.unsubscribe_url in posted.html

    mail.deliver()

    (message,) = sent.outbox
    assert message.extra_headers["Auto-Submitted"] == "auto-generated"
    assert message.extra_headers["List-Unsubscribe"] == f"<{posted.unsubscribe_url}>"
    assert message.extra_headers["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert Mail.objects.get().unsubscribe_url == ""


@pytest.mark.parametrize("spoil", [lambda t: t[:-1], lambda t: "x" + t, lambda _t: "x", str.lower])
def test_token_that_we_did_not_sign_does_nothing(
    client: Client, member: Member, spoil: object
) -> None:
    token = unsubscribe_link(member.user, NoticeKind.BALANCE).rpartition("/")[2]

    response = client.post(reverse("notice-unsubscribe", args=[spoil(token)]))  # type: ignore[operator]

    assert response.status_code == 404
    assert User.objects.get().muted_notices == []


def test_token_of_another_purpose_does_nothing(client: Client, member: Member) -> None:
    other = signing.dumps([member.user_id, "balance"], salt="another purpose")
    gone = signing.dumps([member.user_id, "no such kind"], salt=UNSUBSCRIBE_SALT)

    for token in (other, gone):
        assert client.post(reverse("notice-unsubscribe", args=[token])).status_code == 404
    User.objects.update(is_active=False)
    address = reverse(
        "notice-unsubscribe",
        args=[signing.dumps([member.user_id, "balance"], salt=UNSUBSCRIBE_SALT)],
    )
    assert client.post(address).status_code == 404


def test_choice_on_the_profile_is_kept(client: Client, member: Member) -> None:
    client.force_login(member.user)
    form = {"language": "ru", "time_zone": "", "notices": ["balance", "webhook"]}

    client.post(reverse("profile"), form)

    member.user.refresh_from_db()
    assert member.user.muted_notices == ["top_up", "documents", "delivery", "protection"]
    shown = client.get(reverse("profile")).context["form"]["notices"].value()
    assert shown == ["balance", "webhook"]


def test_repeated_button_sends_few_emails() -> None:
    for _ in range(mail.MAX_PER_HOUR + 1):
        mail.append(template="t", to="a@example.com", subject="s", text="t")
    mail.append(template="t", to="b@example.com", subject="s", text="t")
    mail.append(template="u", to="a@example.com", subject="s", text="t")
    mail.append(template="t", to="a@example.com", subject="s", text="t", key="once")

    kinds = Counter(Mail.objects.values_list("template", "to"))
    assert kinds == {
        ("t", "a@example.com"): mail.MAX_PER_HOUR + 1,  # one of these has a key
        ("t", "b@example.com"): 1,
        ("u", "a@example.com"): 1,
    }


@pytest.mark.django_db(transaction=True)
def test_parallel_mails_cannot_exceed_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is in a transaction that is still open while the others count."""
    monkeypatch.setattr(mail, "MAX_PER_HOUR", 2)
    all_counted = threading.Barrier(4)

    def append(number: int) -> None:
        with transaction.atomic():
            to = "a@example.com" if number % 2 else "A@example.com"
            mail.append(template="t", to=to, subject="s", text="t")
            all_counted.wait(TIMEOUT)

    at_once([partial(append, number) for number in range(4)])

    assert Mail.objects.count() == 2
