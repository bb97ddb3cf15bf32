"""The mail outbox: an e-mail is stored in the transaction that causes it."""

from collections.abc import Iterable, Mapping
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils import translation

from accounts.models import Company, Mail, Member
from accounts.outbox import notice_kinds
from accounts.outbox.plain_text import subject_and_text
from config.input.characters import one_line


def post(
    *,
    template: str,
    to: str,
    language: str,
    context: Mapping[str, Any],
    key: str | None = None,
    unsubscribe_url: str = "",
    request: HttpRequest | None = None,
) -> None:
    """Render `mail/<template>.html` and append it; at most once per `key`.

    Times are those of the reader who asked for it by `request`, or else the service's.
    """
    own = {
        "site_url": settings.PUBLIC_URL,
        "language": language,
        "unsubscribe_url": unsubscribe_url,
    }
    with translation.override(language):
        html = render_to_string(f"mail/{template}.html", {**context, **own}, request)
    subject, text = subject_and_text(html)
    append(
        template=template,
        to=to,
        subject=subject,
        text=text,
        html=html,
        key=key,
        unsubscribe_url=unsubscribe_url,
    )


def post_to_members(
    *,
    company: Company,
    roles: Iterable[str],
    template: str,
    context: Mapping[str, Any],
    key: str | None = None,
) -> None:
    """Post to every active member with one of the roles who wants such letters.

    Each in their language.
    """
    kind = notice_kinds.kind_of(template)
    members = Member.objects.filter(company=company, role__in=list(roles), user__is_active=True)
    for member in members.select_related("user").order_by("pk"):
        if not notice_kinds.wants(member.user, kind):
            continue
        post(
            template=template,
            to=member.user.email,
            language=member.user.language,
            context={"company": company, **context},
            key=f"{key}:{member.user_id}" if key else None,
            unsubscribe_url=notice_kinds.unsubscribe_link(member.user, kind) if kind else "",
        )


def append(
    *,
    template: str,
    to: str,
    subject: str,
    text: str,
    html: str = "",
    key: str | None = None,
    unsubscribe_url: str = "",
) -> None:
    """Append a rendered e-mail."""
    mail = Mail(
        template=template,
        to=to,
        subject=one_line(subject)[:255],
        text=text.strip() + "\n",
        html=html.strip(),
        key=key,
        unsubscribe_url=unsubscribe_url,
    )
    # Of two parallel inserts with one key, one is ignored.
    Mail.objects.bulk_create([mail], ignore_conflicts=True)
