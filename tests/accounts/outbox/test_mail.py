"""E-mails are queued in the outbox, in the recipient's language."""

from typing import Any

import pytest
from django.db import transaction

from accounts.models import Company, Language, Mail, Member
from accounts.outbox import mail
from tests.factories import EndpointFactory, MemberFactory, UserFactory

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


def test_names_are_escaped_in_html_alone(context: dict[str, Any]) -> None:
    context["company"].name = "<b>&Co"

    post(context)

    email = Mail.objects.get()
    assert "<b>&Co" in email.text
    assert "&lt;b&gt;&amp;Co" in email.html
    assert "<b>&Co" not in email.html


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
    english = UserFactory.create(language=Language.ENGLISH)
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
