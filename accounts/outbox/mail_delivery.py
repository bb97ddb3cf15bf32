"""Delivers the mail outbox: claims an e-mail, sends it outside any transaction, records it."""

import random
import threading
from datetime import timedelta
from smtplib import SMTPException, SMTPRecipientsRefused
from urllib.parse import urlsplit

import structlog
from django.conf import settings
from django.core.mail import EmailMultiAlternatives, get_connection
from django.db import connection
from django.utils import timezone

from accounts.models import Mail
from parsing.hosts import ascii_address

log = structlog.get_logger(__name__)

BATCH = 20  # e-mails in one run
LEASE = 120  # seconds until an unrecorded e-mail is sent again
DELAYS = (10, 60, 300, 1800, 7200, 18_000, 36_000)  # seconds between tries

# Delivery is at least once: a crash after sending sends the e-mail again. ARRAY chooses one row; a
# join may run its inner query for each row, and then each time claim the next.
CLAIM = """
UPDATE accounts_mail
SET due_at = statement_timestamp() + make_interval(secs => %s), tries = tries + 1
WHERE id = ANY(ARRAY(SELECT id FROM accounts_mail WHERE due_at <= statement_timestamp()
                     ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED))
RETURNING id
"""


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
    sent = 0
    for _ in range(BATCH):
        email = _claim()
        if email is None:
            break
        try:
            sent += _send(email)
        except OSError:  # the server is unreachable: do not try the rest
            break
    return sent


def _claim() -> Mail | None:
    with connection.cursor() as cursor:
        cursor.execute(CLAIM, [LEASE])
        claimed = cursor.fetchone()
    if claimed is None:
        return None
    (mail_id,) = claimed
    return Mail.objects.get(pk=mail_id)


def _send(email: Mail) -> bool:
    """Whether the server accepted the e-mail; raises OSError when it is unreachable."""
    try:
        _message(email).send()
    except Exception as error:  # of whatever kind: it must not hold up other e-mails
        _postpone(email, error)
        if isinstance(error, OSError) and not isinstance(error, SMTPException):
            raise
        return False
    # A sent e-mail loses its text, which may hold a sign-in or reset link.
    Mail.objects.filter(pk=email.pk).update(
        sent_at=timezone.now(), due_at=None, text="", html="", unsubscribe_url="", error=""
    )
    return True


def _message(email: Mail) -> EmailMultiAlternatives:
    message = EmailMultiAlternatives(
        email.subject, email.text, to=[ascii_address(email.to)], connection=get_connection()
    )
    message.extra_headers["Message-ID"] = f"<{email.pk}@{_host()}>"  # receivers deduplicate by it
    if email.unsubscribe_url:  # a button of the mail program itself, RFC 8058
        message.extra_headers["List-Unsubscribe"] = f"<{email.unsubscribe_url}>"
        message.extra_headers["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    if email.html:
        message.attach_alternative(email.html, "text/html")
    return message


def _is_final(error: Exception) -> bool:
    """The recipient is unknown or the e-mail is malformed: retrying does not help."""
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
