"""Sends one notice about the alerts that began or ended, by e-mail and to Telegram.

Notices are stored in the transaction that changes the alerts. E-mails use the mail outbox, Telegram
has its own; a crash after Telegram accepted a notice repeats it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from urllib.parse import urlsplit

import structlog
from django.conf import settings
from django.core.mail import get_connection
from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone, translation

from accounts.outbox import mail
from accounts.outbox.unfolded_email import UnfoldedEmail
from channels.providers.base import SendError
from channels.providers.telegram_bot.provider import TelegramBot
from channels.vendor_accounts import operator_mail
from operator_admin.alerts.rules import RULES
from operator_admin.models import Alert, TelegramNotice

log = structlog.get_logger(__name__)

MAX_TEXT = 4000  # characters; Telegram accepts 4096
BATCH_SIZE = 50  # notices in one message
LEASE = 60  # seconds until a call without a recorded outcome is repeated
DELAYS = [timedelta(minutes=minutes) for minutes in (1, 2, 5, 15, 60)]  # the last one repeats
GIVE_UP_AFTER = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class AlertText:
    """The texts of an alert, in the active language."""

    name: str
    title: str
    detail: str
    remedy: str
    began_at: datetime
    minutes: int  # how long it has lasted
    is_reminder: bool
    url: str


def text_of(alert: Alert) -> AlertText:
    title, detail, remedy = RULES[alert.rule].texts_of(alert)
    until = alert.ended_at or timezone.now()
    return AlertText(
        name=alert.rule,
        title=title,
        detail=detail,
        remedy=remedy,
        began_at=alert.began_at,
        minutes=max(0, round((until - alert.began_at).total_seconds() / 60)),
        is_reminder=alert.notices > 1,
        url=f"{settings.PUBLIC_URL}{reverse('admin:alerts')}#{alert.rule}",
    )


def append(begun: Sequence[Alert], ended: Sequence[Alert]) -> None:
    """Stores one e-mail per operator and one Telegram message about all these alerts."""
    if not (begun or ended):
        return
    for alert in begun:
        log.warning("alert", rule=alert.rule, subject=alert.subject, notices=alert.notices)
    for alert in ended:
        log.info("alert_ended", rule=alert.rule, subject=alert.subject)
    # The first e-mail about a paused account was sent when it was paused.
    mailed = [row for row in begun if row.notices > 1 or not RULES[row.rule].is_mailed_at_once]
    if mailed or ended:
        for address, language in operator_mail.recipients():
            with translation.override(language):
                context = _context(mailed, ended)
            mail.post(template="operator_alerts", to=address, language=language, context=context)
    if chat():
        with translation.override(settings.OPERATOR_LANGUAGE):
            text = render_to_string("operator_admin/telegram_notice.txt", _context(begun, ended))
        TelegramNotice.objects.create(text=shorten(text))


def _context(begun: Sequence[Alert], ended: Sequence[Alert]) -> dict[str, object]:
    return {
        "host": urlsplit(settings.PUBLIC_URL).hostname,
        "begun": [text_of(alert) for alert in begun],
        "ended": [text_of(alert) for alert in ended],
        "path": reverse("admin:alerts"),
        "url": f"{settings.PUBLIC_URL}{reverse('admin:alerts')}",
    }


def shorten(text: str) -> str:
    text = text.strip()
    return text if len(text) <= MAX_TEXT else text[: MAX_TEXT - 1] + "…"


@cache
def _bot(api_url: str, proxy: str, token: str) -> TelegramBot:
    bot = TelegramBot(
        api_url=api_url, token=token, secret_token="", timeout=settings.PROVIDER_TIMEOUT
    )
    bot.use_proxy(proxy)
    return bot


def chat() -> TelegramBot | None:
    """The bot that writes to the operators' chat; None if there is none."""
    if not (settings.OPERATOR_TELEGRAM_BOT_TOKEN and settings.OPERATOR_TELEGRAM_CHAT_ID):
        return None
    ours = settings.PROVIDER_ACCOUNTS["telegram_bot"]
    return _bot(ours["api_url"], ours.get("proxy", ""), settings.OPERATOR_TELEGRAM_BOT_TOKEN)


def send_mail(subject: str, text: str, *to: str) -> str:
    """Sends without the outbox; returns the error, or an empty text."""
    try:
        UnfoldedEmail(subject, text, to=to, connection=get_connection()).send()
    except OSError as error:  # smtplib's errors are subclasses
        return type(error).__name__
    return ""


def send_telegram(text: str) -> str:
    """Sends without the outbox; returns the error, or an empty text."""
    try:
        if bot := chat():
            bot.notify(settings.OPERATOR_TELEGRAM_CHAT_ID, text)
    except SendError as error:
        return str(error) or type(error).__name__
    return ""


def deliver_telegram() -> bool:
    """Sends all due notices as one message; returns whether Telegram accepted it."""
    bot = chat()
    due = _claim() if bot else []
    if bot is None or not due:
        return False
    text = shorten("\n\n".join(notice.text for notice in due))
    ids = [notice.pk for notice in due]
    try:
        bot.notify(settings.OPERATOR_TELEGRAM_CHAT_ID, text)
    except SendError as error:
        _postpone(due, error)
        return False
    TelegramNotice.objects.filter(pk__in=ids).delete()
    return True


@transaction.atomic
def _claim() -> list[TelegramNotice]:
    due = TelegramNotice.objects.select_for_update(skip_locked=True).filter(due_at__lte=Now())
    ids = list(due.order_by("pk").values_list("pk", flat=True)[:BATCH_SIZE])
    claimed = TelegramNotice.objects.filter(pk__in=ids)
    claimed.update(due_at=Now() + timedelta(seconds=LEASE), tries=F("tries") + 1)
    return list(claimed.order_by("pk"))


def _postpone(due: Sequence[TelegramNotice], error: SendError) -> None:
    """Postpones notices, even after a call without a response: a repeat is better than none.

    Drops notices older than GIVE_UP_AFTER.
    """
    log.warning("operator_telegram_failed", error=type(error).__name__, code=error.code)
    for notice in due:
        wait = DELAYS[min(notice.tries, len(DELAYS)) - 1]
        wait = max(wait, timedelta(seconds=getattr(error, "retry_after", None) or 0))
        notice.due_at = timezone.now() + wait
        notice.error = str(error)[:200]
        notice.save(update_fields=["due_at", "error"])
    TelegramNotice.objects.filter(created_at__lt=timezone.now() - GIVE_UP_AFTER).delete()
