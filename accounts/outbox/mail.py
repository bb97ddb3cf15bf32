"""The mail outbox: an e-mail is stored in the transaction that causes it."""

from collections.abc import Iterable, Mapping
from typing import Any

from django.conf import settings
from django.template.loader import render_to_string
from django.utils import translation

from accounts.models import Company, Mail, Member
from accounts.outbox import notice_kinds, unsubscribing
from config.input.characters import one_line


def post(
    *,
    template: str,
    to: str,
    language: str,
    context: Mapping[str, Any],
    key: str | None = None,
    unsubscribe_url: str = "",
) -> None:
    """Render `mail/<template>.{subject.txt,txt,html}` and append it; at most once per `key`."""
    full = {**context, "unsubscribe_url": unsubscribe_url}
    with translation.override(language):
        parts = [_render(template, part, full) for part in ("subject.txt", "txt", "html")]
    subject, text, html = parts
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
            unsubscribe_url=unsubscribing.url_for(member.user, kind) if kind else "",
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


def _render(template: str, part: str, context: Mapping[str, Any]) -> str:
    site = {
        "site_url": settings.PUBLIC_URL,
        "language": translation.get_language(),
        "unsubscribe_url": "",
    }
    return render_to_string(f"mail/{template}.{part}", site | dict(context))
