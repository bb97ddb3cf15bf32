"""The mail outbox: an e-mail is stored in the transaction that causes it.

Its subject and plain text are extracted from its HTML, so each e-mail has one template. Text that
strangers wrote is escaped there, and its line breaks become spaces as in HTML: in the plain text
too it can neither begin a line nor add a header.
"""

import random
import re
import threading
from collections.abc import Iterable, Mapping
from datetime import timedelta
from html.parser import HTMLParser
from smtplib import SMTPException, SMTPRecipientsRefused
from typing import Any
from urllib.parse import urlsplit

import structlog
from django.conf import settings
from django.core import signing
from django.core.mail import get_connection
from django.db import models, transaction
from django.db.models.functions import Now
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.translation import gettext_lazy as _

from accounts.models import Company, Mail, Member, User
from accounts.outbox.unfolded_email import UnfoldedEmail
from parsing.characters import one_line
from parsing.hosts import ascii_address
from storage import atomic_limits
from storage.atomic_limits import Window

log = structlog.get_logger(__name__)
MAX_PER_HOUR = 100  # of one template to one address; alerts to operators are 60 at most
UNSUBSCRIBE_SALT = "accounts.outbox.unsubscribing"


class NoticeKind(models.TextChoices):
    """Kinds of e-mail that a member can switch off; all other e-mails are always sent."""

    BALANCE = "balance", _("Tokens or a budget are running out")
    TOP_UP = "top_up", _("Top-ups, including automatic ones")
    DOCUMENTS = "documents", _("Documents of a closed month or of an advance payment")
    DELIVERY = "delivery", _("Fewer messages arrive than usual")
    PROTECTION = (
        "protection",
        _("Weekly SMS pumping report, while the protection is in monitoring mode"),
    )
    WEBHOOK = "webhook", _("A webhook endpoint fails or was switched off")


def mute(user: User, kind: NoticeKind) -> bool:
    """Mutes a kind; False if it is muted already. Keeps concurrent changes to other kinds."""
    locked = User.objects.select_for_update(no_key=True).get(pk=user.pk)
    if kind in locked.muted_notices:
        return False
    locked.muted_notices = sorted({*locked.muted_notices, kind.value})
    locked.save(update_fields=["muted_notices"])
    return True


def unsubscribe_link(user: User, kind: NoticeKind) -> str:
    """A link that unsubscribes from this kind without a sign-in (RFC 8058).

    It works for as long as the person has an account: e-mails are kept for years.
    """
    token = signing.dumps([user.pk, kind.value], salt=UNSUBSCRIBE_SALT)
    return f"{settings.PUBLIC_URL}{reverse('notice-unsubscribe', args=[token])}"


def read_unsubscribe_token(token: str) -> tuple[User, NoticeKind] | None:
    """The user and kind of a link; None if we did not sign it, or either no longer exists."""
    try:
        user_id, kind = signing.loads(token, salt=UNSUBSCRIBE_SALT)
        return User.objects.get(pk=user_id, is_active=True), NoticeKind(kind)
    except (signing.BadSignature, User.DoesNotExist, ValueError):
        return None


BLOCKS = {"p", "ul", "td"}
BLOCK_END = "\f"  # never part of a text: SPACES replaces it
TEXT_BEFORE_TAG = {"br": "\n", "li": "\n– ", "tfoot": "—\n"}
# All white space except non-breaking spaces.
SPACES = re.compile(r"[^\S\xa0\u202f]+")
BREAKS = re.compile(rf" *[\n{BLOCK_END}][ \n{BLOCK_END}]*")


def subject_and_text(html: str) -> tuple[str, str]:
    parser = _MailParser()
    parser.feed(html)
    parser.close()
    raw_text = re.sub(" +", " ", "".join(parser.parts))
    text = BREAKS.sub(lambda match: "\n\n" if BLOCK_END in match[0] else "\n", raw_text)
    # An address or a list follows directly below the sentence that introduces it.
    return parser.subject, text.replace(":\n\n", ":\n").strip()


class _MailParser(HTMLParser):
    """Reads only our own templates: all elements closed, no `html-only` inside another."""

    def __init__(self) -> None:
        super().__init__()
        self.subject = ""
        self.parts: list[str] = []
        self._skipped = ""
        self._address = ""
        self._label_from = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._skipped:
            return
        values = dict(attrs)
        if tag == "style" or "html-only" in (values.get("class") or ""):
            self._skipped = tag
        elif tag == "a":
            self._address = (values.get("href") or "").removeprefix("mailto:")
            self._label_from = len(self.parts)
        else:
            self.parts.append(TEXT_BEFORE_TAG.get(tag, ""))

    def handle_data(self, data: str) -> None:
        if not self._skipped:
            self.parts.append(SPACES.sub(" ", data))

    def handle_endtag(self, tag: str) -> None:
        if self._skipped:
            self._skipped = "" if tag == self._skipped else self._skipped
        elif tag == "title":
            self.subject = "".join(self.parts).strip()
            self.parts.clear()
        elif tag == "a":
            label = "".join(self.parts[self._label_from :]).strip()
            if label != self._address:
                self.parts[self._label_from :] = ["\n", label, ": ", self._address]
        elif tag in BLOCKS:
            self.parts.append(BLOCK_END)


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
    """Renders `mail/<template>.html` and appends the e-mail; at most once per `key`.

    Times are in the zone of the reader who sent `request`, or in the service's if there is none.
    """
    common = {
        "site_url": settings.PUBLIC_URL,
        "language": language,
        "unsubscribe_url": unsubscribe_url,
    }
    with translation.override(language):
        html = render_to_string(f"mail/{template}.html", {**context, **common}, request)
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
    kind: NoticeKind | None = None,
    key: str | None = None,
) -> None:
    """Posts to every active member with one of the roles who has not switched the kind off, each in
    their own language. Nobody can switch an e-mail without a kind off.
    """
    members = Member.objects.filter(company=company, role__in=list(roles), user__is_active=True)
    for member in members.select_related("user").order_by("pk"):
        if kind in member.user.muted_notices:
            continue
        post(
            template=template,
            to=member.user.email,
            language=member.user.language,
            context={"company": company, **context},
            key=f"{key}:{member.user_id}" if key else None,
            unsubscribe_url=unsubscribe_link(member.user, kind) if kind else "",
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
    """Appends a rendered e-mail. Without a `key`, leaves it out if the address had too many of this
    template: a person who presses a button again and again must neither fill a mailbox nor hold up
    other e-mails.
    """
    if key is None and _has_too_many(template, to):
        log.warning("mail_left_out", template=template)
        return
    mail = Mail(
        template=template,
        to=to,
        subject=one_line(subject)[:255],
        text=text.strip() + "\n",
        html=html.strip(),
        key=key,
        unsubscribe_url=unsubscribe_url,
    )
    # Two parallel inserts with one key: one is ignored.
    Mail.objects.bulk_create([mail], ignore_conflicts=True)


def _has_too_many(template: str, to: str) -> bool:
    """Whether the address already got MAX_PER_HOUR e-mails of this template.

    Both the rows and a counter are checked: only the counter includes e-mails not committed yet,
    and only the rows can be counted without Redis. A lock instead would be held until the
    transaction that causes the e-mail ends.
    """
    recent = Mail.objects.filter(created_at__gt=timezone.now() - timedelta(hours=1))
    if recent.filter(template=template, to__iexact=to, key=None).count() >= MAX_PER_HOUR:
        return True
    box = atomic_limits.hashed(to.casefold())
    return atomic_limits.count_or_wait(Window(f"mail:{template}:{box}", MAX_PER_HOUR, 3600)) > 0


BATCH_SIZE = 20  # e-mails in one run
LEASE = 120  # seconds until an unrecorded e-mail is sent again
DELAYS = (10, 60, 300, 1800, 7200, 18_000, 36_000)  # seconds between tries

_one_run = threading.Lock()  # a hanging mail server blocks one thread per worker, not all


def deliver() -> int:
    """Sends a batch of due e-mails; returns how many the mail server accepted."""
    if not _one_run.acquire(blocking=False):
        return 0
    try:
        return _deliver()
    finally:
        _one_run.release()


def _deliver() -> int:
    sent_count = 0
    for _round in range(BATCH_SIZE):
        email = _claim()
        if email is None:
            break
        try:
            sent_count += _send(email)
        except OSError:  # the server is unreachable: do not try the rest
            break
    return sent_count


@transaction.atomic
def _claim() -> Mail | None:
    """Leases the next due e-mail; returns None if none is due.

    Delivery is at least once: after a crash while sending, the e-mail is sent again.
    """
    due = Mail.objects.select_for_update(skip_locked=True).filter(due_at__lte=Now())
    email = due.order_by("due_at").first()
    if email is not None:
        email.tries += 1
        lease = Now() + timedelta(seconds=LEASE)
        Mail.objects.filter(pk=email.pk).update(due_at=lease, tries=email.tries)
    return email


def _send(email: Mail) -> bool:
    """Whether the server accepted the e-mail; raises OSError when it is unreachable."""
    try:
        _message(email).send()
    except Exception as error:  # any kind: it must not hold up other e-mails
        _postpone(email, error)
        if isinstance(error, OSError) and not isinstance(error, SMTPException):
            raise
        return False
    # A sent e-mail loses its text, which may hold a sign-in or reset link.
    Mail.objects.filter(pk=email.pk).update(
        sent_at=timezone.now(), due_at=None, text="", html="", unsubscribe_url="", error=""
    )
    return True


def _message(email: Mail) -> UnfoldedEmail:
    message = UnfoldedEmail(
        email.subject, email.text, to=[ascii_address(email.to)], connection=get_connection()
    )
    message.extra_headers["Message-ID"] = f"<{email.pk}@{_host()}>"  # receivers deduplicate by it
    # Prevents out-of-office replies, RFC 3834
    message.extra_headers["Auto-Submitted"] = "auto-generated"
    if email.unsubscribe_url:  # the mail program's own button, RFC 8058
        message.extra_headers["List-Unsubscribe"] = f"<{email.unsubscribe_url}>"
        message.extra_headers["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    if email.html:
        message.attach_alternative(email.html, "text/html")
    return message


def _is_final(error: Exception) -> bool:
    """Whether retrying is useless: the recipient is unknown or the e-mail is malformed."""
    if isinstance(error, SMTPRecipientsRefused):
        return all(code >= 500 for code, _words in error.recipients.values())
    return isinstance(error, ValueError)


def _host() -> str:
    return urlsplit(settings.PUBLIC_URL).hostname or "localhost"


def _postpone(email: Mail, error: Exception) -> None:
    is_last = email.tries > len(DELAYS) or _is_final(error)
    changes: dict[str, object] = {"error": f"{type(error).__name__}: {error}"[:200]}
    if is_last:
        changes |= {"due_at": None, "text": "", "html": "", "unsubscribe_url": ""}
    else:
        wait = random.uniform(0.5, 1.5) * DELAYS[email.tries - 1]  # noqa: S311 - not a secret
        changes["due_at"] = timezone.now() + timedelta(seconds=wait)
    Mail.objects.filter(pk=email.pk, sent_at=None).update(**changes)
    log.warning("mail_not_sent", mail=str(email.pk), error=type(error).__name__, last=is_last)
