"""Every e-mail template in both languages: subject, text, HTML, and links to this service."""

import re
from collections.abc import Callable
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from allauth.core import context as allauth_context
from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.test import RequestFactory
from django.urls import reverse
from django.utils import timezone, translation

from accounts.models import Company, Mail
from accounts.outbox.mail import post
from accounts.security.notifications import NOTICES, NOTICES_OF_ALLAUTH
from accounts.sign_in.adapter import AccountAdapter
from billing.budgets.sql import BudgetUsage
from billing.models import AutoTopUp, BalanceAlert
from otp.models import GuardRestriction
from otp.protection.week_replay import WeekFigures
from parsing.characters import one_line
from tests.document_factories import DocumentFactory
from tests.factories import EndpointFactory, InvitationFactory, MemberFactory, OrderFactory

TEMPLATES = Path(__file__).parents[3] / "templates/mail"
HERE = settings.PUBLIC_URL
OF_ACCOUNT = sorted(
    [
        *(
            path.relative_to(TEMPLATES).with_suffix("").as_posix()
            for path in TEMPLATES.glob("*/email/*.html")
        ),
        *NOTICES_OF_ALLAUTH,
    ]
)
CONTEXT = {
    "activate_url": f"{HERE}/account/confirm-email/key/",
    "password_reset_url": f"{HERE}/account/password/reset/",
    "signup_url": f"{HERE}/account/signup/",
    "email": "anna@example.com",
    "from_email": "old@example.com",
    "to_email": "new@example.com",
    "deleted_email": "old@example.com",
    "ip": "203.0.113.7",
    "user_agent": "Firefox <b>",
}
ODD = "<b>Eve</b> [x](http://evil.example) <a href='http://evil.example'>\r\n\n\u2028Bcc: eve"


class MailText(NamedTuple):
    subject: str
    text: str
    html: str


class Links(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value or "" for name, value in attrs if name in {"href", "src"}]


def written() -> MailText:
    email = Mail.objects.get()
    return MailText(email.subject, email.text, email.html)


def of_account(prefix: str, **odd: str) -> MailText:
    request = RequestFactory().get("/")
    request.user = AnonymousUser()
    with allauth_context.request_context(request):
        AccountAdapter(request).send_mail(
            prefix, "anna@example.com", CONTEXT | {"timestamp": timezone.now()} | odd
        )
    return written()


def _endpoint(company: Company) -> dict[str, Any]:
    return {"endpoint": EndpointFactory.create(company=company), "page_url": f"{HERE}/cabinet/"}


def _invitation(company: Company) -> dict[str, Any]:
    owner = MemberFactory.create(company=company).user
    invitation = InvitationFactory.create(company=company, invited_by=owner)
    return {"invitation": invitation, "join_url": f"{HERE}/cabinet/join/token"}


def _order(company: Company) -> dict[str, Any]:
    order = OrderFactory.create(company=company, invoice_year=2026, invoice_number=17)
    return {"order": order, "tokens": order.tokens, "url": f"{HERE}/cabinet/balance"}


def _auto_top_up(company: Company) -> dict[str, Any]:
    pause = AutoTopUp.Pause.DECLINED
    setting = AutoTopUp(company=company, paused_at=timezone.now(), paused_for=pause)
    return {"setting": setting, "url": f"{HERE}/cabinet/balance/automatic"}


def _balance(_company: Company) -> dict[str, Any]:
    return {"available": 21, "threshold": 100, "url": f"{HERE}/cabinet/balance"}


def _reason(_company: Company) -> dict[str, Any]:
    return {"reason": "<b> 42"}


def _breaker(_company: Company) -> dict[str, Any]:
    parts = {"title": "Twilio", "cause": "<b> 42", "reason": "20003", "path": "/admin/providers/"}
    return parts | {"whole": "Twilio · <b> kz", "part": ""}


def _alert(_company: Company) -> dict[str, Any]:
    parts = {"title": "Twilio", "meaning": "<b> 42", "reason": "21408: <b>"}
    return parts | {"path": "/admin/providers/"}


def _alerts(_company: Company) -> dict[str, Any]:
    url = f"{HERE}/admin/alerts/"
    alert = {"title": "<b> 42", "detail": "<b>", "remedy": "<b>", "minutes": 5, "url": url}
    return {"begun": [alert | {"is_reminder": True}], "ended": [alert], "url": url}


def _change(_company: Company) -> dict[str, Any]:
    notice = NOTICES["recovery_codes.viewed"]
    return {
        "notice": notice.subject,
        "what": notice.text,
        "timestamp": timezone.now(),
        "ip": "203.0.113.7",
        "device": "Firefox, Linux",
    }


def _budget(_company: Company) -> dict[str, Any]:
    use = BudgetUsage("SO", 640, 800, timezone.now())
    return {"use": use, "url": f"{HERE}/cabinet/settings/budgets"}


def _documents(company: Company) -> dict[str, Any]:
    document = DocumentFactory.create(company=company)
    file = f"{HERE}/documents/token"
    return {
        "documents": [{"document": document, "pdf": f"{file}.pdf", "xml": f"{file}.xml"}],
        "month": document.month,
        "days": 30,
        "url": f"{HERE}/cabinet/documents",
    }


def _balance_alert(company: Company) -> dict[str, Any]:
    alert = BalanceAlert(company=company, kind="days", level=3)
    return {"alert": alert, "now": 2, "url": f"{HERE}{reverse('balance')}"}


def _drop(_company: Company) -> dict[str, Any]:
    page_url = f"{HERE}{reverse('message-list')}?state=failed"
    return {"channel": "SMS", "share": 61.5, "usual": 97.0, "page_url": page_url}


def _restriction(company: Company) -> dict[str, Any]:
    now = timezone.now()
    restriction = GuardRestriction(
        company=company,
        kind="country",
        value="SO",
        step=GuardRestriction.Step.REFUSE,
        rule="unverified",
        is_enforced=True,
        codes=12,
        began_at=now,
        until=now,
    )
    return {"restriction": restriction, "page_url": f"{HERE}{reverse('protection')}"}


def _week(_company: Company) -> dict[str, Any]:
    week = WeekFigures(
        codes=1234,
        since=timezone.now(),
        refused=21,
        challenged=2,
        cheap_only=5,
        entered=1,
        tokens=352,
    )
    return {"week": week, "page_url": f"{HERE}{reverse('protection')}"}


# The context of each of our e-mails; an e-mail without a row fails.
OURS: dict[str, Callable[[Company], dict[str, Any]]] = {
    "delivery_drop": _drop,
    "guard_triggered": _restriction,
    "guard_week": _week,
    "endpoint_disabled": _endpoint,
    "endpoint_failing": _endpoint,
    "invitation": _invitation,
    "balance_alert": _balance_alert,
    "balance_low": _balance,
    "budget_nearly_used": _budget,
    "top_up_paid": _order,
    "automatic_invoice": _order,
    "auto_top_up_paused": _auto_top_up,
    "documents": _documents,
    "company_approved": _reason,
    "company_suspended": _reason,
    "breaker_opened": _breaker,
    "provider_alert": _alert,
    "operator_alerts": _alerts,
    "account_change": _change,
}


def of_ours(name: str, company: Company, language: str) -> MailText:
    return of_context(name, OURS[name](company) | {"company": company}, language)


def of_context(name: str, context: dict[str, Any], language: str) -> MailText:
    post(template=name, to="anna@example.com", language=language, context=context)
    return written()


def check_email(email: MailText, language: str) -> None:
    assert email.subject.startswith("Kvitok: ")
    assert "\n" not in email.subject
    assert f'<html lang="{language}">' in email.html
    assert "<b>" not in email.html
    links = Links(email.html).found
    assert links
    assert [link for link in links if not link.startswith("http")] == []
    assert all(link in email.text for link in links)
    text = email.subject + email.text + re.sub(r"<style>.*?</style>", "", email.html)
    assert bool(re.search(r"[А-Яа-яЁё]", text)) is (language == "ru")
    check_words(email)


@pytest.mark.parametrize("language", ["ru", "en"])
@pytest.mark.parametrize("prefix", OF_ACCOUNT)
def test_account_email_passes_the_checks(db: None, prefix: str, language: str) -> None:
    with translation.override(language):
        check_email(of_account(prefix), language)


@pytest.mark.parametrize("language", ["ru", "en"])
@pytest.mark.parametrize("name", OURS)
def test_company_email_passes_the_checks(db: None, name: str, language: str) -> None:
    company = Company.objects.create(name="Daisy" if language == "en" else "Ромашка")

    check_email(of_ours(name, company, language), language)


def test_every_email_template_is_checked() -> None:
    ours = {path.stem for path in TEMPLATES.glob("*.html")}

    assert set(OURS) == ours - {"base", "button"}
    assert len(OF_ACCOUNT) == 16


def words(text: str) -> list[str]:
    return re.findall(r"\w+", re.sub(r"https?://\S+", "", text))


def check_words(email: MailText) -> None:
    """Asserts that the text has the words of the HTML, except those that are only for the eye."""
    shown = re.sub(r'<(\w+)[^>]* class="html-only".*?</\1>', "", email.html, flags=re.DOTALL)
    title, body = re.split(r"</title>\s*<style>.*?</style>", shown, flags=re.DOTALL)

    assert one_line(unescape(title.partition("<title>")[2])) == email.subject
    assert words(unescape(re.sub(r"<[^>]+>", " ", body))) == words(email.text)


def oddly(value: Any) -> Any:
    """The context with markup and line breaks in every text except addresses."""
    if isinstance(value, dict):
        return {key: oddly(part) for key, part in value.items()}
    if isinstance(value, list):
        return [oddly(part) for part in value]
    is_address = isinstance(value, str) and value.startswith(("http", "/"))
    return ODD if isinstance(value, str) and value and not is_address else value


@pytest.mark.parametrize("name", OURS)
def test_texts_of_strangers_stay_plain_text(company: Company, name: str) -> None:
    context = OURS[name](company) | {"company": company}
    usual = of_context(name, context, "en")
    Mail.objects.all().delete()
    company.name = ODD
    if name not in {"company_approved", "company_suspended"}:  # the operator may write lines
        context = oddly(context)

    check_odd(of_context(name, context, "en"), usual)


@pytest.mark.parametrize("prefix", OF_ACCOUNT)
def test_texts_of_strangers_stay_plain_text_about_an_account(db: None, prefix: str) -> None:
    usual = of_account(prefix)
    Mail.objects.all().delete()

    check_odd(of_account(prefix, **oddly(CONTEXT)), usual)


def check_odd(odd: MailText, usual: MailText) -> None:
    assert "<b>" not in odd.html
    assert [link for link in Links(odd.html).found if "evil" in link] == []
    assert not set(odd.subject) & set("\r\n\u2028")
    assert odd.text.count("\n") == usual.text.count("\n")
    assert not set(odd.text) & set("\r\u2028")
