"""Delivers the mail outbox: claims a letter, sends it outside any transaction, records it."""

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

log = structlog.get_logger(__name__)

BATCH = 20  # letters in one run
LEASE = 120  # seconds until an unrecorded letter is sent again
DELAYS = (10, 60, 300, 1800, 7200, 18_000, 36_000)  # seconds between tries

# Delivery is at least once: a crash after sending sends the letter again.
CLAIM = """
UPDATE accounts_mail
SET due_at = statement_timestamp() + make_interval(secs => %s), tries = tries + 1
WHERE id IN (SELECT id FROM accounts_mail WHERE due_at <= statement_timestamp()
             ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED)
RETURNING id
"""


_one_run = threading.Lock()  # a hanging mail server blocks one thread per worker, not all


def deliver() -> int:
    """Send a batch of due letters; returns how many the mail server accepted."""
    if not _one_run.acquire(blocking=False):
        return 0
    try:
        return _deliver()
    finally:
        _one_run.release()


def _deliver() -> int:
    sent = 0
    for _ in range(BATCH):
        letter = _claim()
        if letter is None:
            break
        try:
            sent += _send(letter)
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


def _send(letter: Mail) -> bool:
    """Whether the server accepted the letter; raises OSError when it is unreachable."""
    message = EmailMultiAlternatives(
        letter.subject, letter.text, to=[letter.to], connection=get_connection()
    )
    message.extra_headers["Message-ID"] = f"<{letter.pk}@{_host()}>"  # receivers deduplicate by it
    if letter.html:
        message.attach_alternative(letter.html, "text/html")
    try:
        message.send()
    except (SMTPException, ValueError) as error:
        _postpone(letter, error)
        return False
    except OSError as error:
        _postpone(letter, error)
        raise
    # A sent letter loses its text, which may hold a sign-in or reset link.
    Mail.objects.filter(pk=letter.pk).update(
        sent_at=timezone.now(), due_at=None, text="", html="", error=""
    )
    return True


def _is_final(error: Exception) -> bool:
    """The recipient is unknown or the letter is malformed: retrying does not help."""
    if isinstance(error, SMTPRecipientsRefused):
        return all(code >= 500 for code, _words in error.recipients.values())
    return isinstance(error, ValueError)


def _host() -> str:
    return urlsplit(settings.PUBLIC_URL).hostname or "localhost"


def _postpone(letter: Mail, error: Exception) -> None:
    is_last = letter.tries > len(DELAYS) or _is_final(error)
    changes: dict[str, object] = {"error": f"{type(error).__name__}: {error}"[:200]}
    if is_last:
        changes |= {"due_at": None, "text": "", "html": ""}
    else:
        wait = random.uniform(0.5, 1.5) * DELAYS[letter.tries - 1]  # noqa: S311 - not a secret
        changes["due_at"] = timezone.now() + timedelta(seconds=wait)
    Mail.objects.filter(pk=letter.pk, sent_at=None).update(**changes)
    log.warning("mail_not_sent", mail=str(letter.pk), error=type(error).__name__, last=is_last)
