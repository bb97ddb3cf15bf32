"""What vendors say of our accounts, unasked: kept for the operator's desk, and heeded: an account
that its vendor says is at fault is left alone for a while.
"""

from collections import Counter
from datetime import datetime
from queue import Empty, SimpleQueue

import structlog
from django.conf import settings
from django.db import connection, transaction
from django.urls import reverse
from django.utils import timezone

from channels.providers.base import AccountAlert, AlertKind
from channels.vendor_accounts import (
    breaker_state,
    circuit_breaker,
    error_texts,
    operator_mail,
    registry,
)

log = structlog.get_logger(__name__)

# The same words again are one row that counts them: a vendor repeats itself by the thousand.
_UPSERT = """
WITH earlier AS (
  SELECT at FROM channels_provideralert
  WHERE provider = %(provider)s AND code = %(code)s AND detail = %(detail)s)
INSERT INTO channels_provideralert AS alert (provider, code, detail, kind, times)
VALUES (%(provider)s, %(code)s, %(detail)s, %(kind)s, %(times)s)
ON CONFLICT (provider, code, detail)
DO UPDATE SET at = now(), times = alert.times + excluded.times, kind = excluded.kind
RETURNING (SELECT at FROM earlier)
"""

_queue: SimpleQueue[tuple[str, AccountAlert]] = SimpleQueue()


@transaction.atomic
def record(provider: str, alert: AccountAlert, times: int = 1) -> None:
    """Keep what a vendor said of the account, and say it in the log."""
    log.warning("account_alert", provider=provider, code=alert.code, kind=alert.kind.value)
    earlier = _upsert(provider, alert, times)
    if provider not in registry.live_providers():
        return
    words = f"{alert.code}: {alert.detail}" if alert.detail else alert.code
    if alert.kind is AlertKind.REFUSED:
        breaker_state.write(
            circuit_breaker.trip_on_alert(provider, words, settings.BREAKER_LONGEST)
        )
    elif alert.kind in {AlertKind.WARNING, AlertKind.TEMPLATE} and _is_first_today(earlier):
        _mail_warning(provider, alert, words)


def _upsert(provider: str, alert: AccountAlert, times: int) -> datetime | None:
    """When it was said before, if it was."""
    said = {
        "provider": provider,
        "code": alert.code[:60],
        "detail": alert.detail[:300],
        "kind": alert.kind.value,
        "times": times,
    }
    with connection.cursor() as cursor:
        cursor.execute(_UPSERT, said)
        earlier: datetime | None = cursor.fetchone()[0]
    return earlier


def _is_first_today(earlier: datetime | None) -> bool:
    return earlier is None or earlier.date() < timezone.now().date()


def _mail_warning(provider: str, alert: AccountAlert, words: str) -> None:
    """Once a day for the same words."""
    context = {
        "title": error_texts.provider_title(provider),
        "meaning": error_texts.alert_text_for(provider, alert.code, alert.kind.value),
        "said": words,
        "path": reverse("admin:providers"),
    }
    about = f"{provider}:{words}:{timezone.now():%Y%m%d}"
    operator_mail.notify_operators(template="provider_alert", context=context, about=about)


def enqueue(provider: str, alert: AccountAlert) -> None:
    """From a provider's thread, which has no database: noted by whoever does, in a moment."""
    _queue.put((provider, alert))


def record_queued() -> None:
    """The same words, however often, in one statement: thousands of refusals hold up no round."""
    heard: Counter[tuple[str, AccountAlert]] = Counter()
    try:
        while True:
            heard[_queue.get_nowait()] += 1
    except Empty:
        pass
    for (provider, alert), times in heard.items():
        record(provider, alert, times)
