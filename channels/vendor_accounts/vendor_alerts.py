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
_NOTE = """
WITH earlier AS (
  SELECT at FROM channels_provideralert
  WHERE provider = %(provider)s AND code = %(code)s AND detail = %(detail)s)
INSERT INTO channels_provideralert AS alert (provider, code, detail, kind, times)
VALUES (%(provider)s, %(code)s, %(detail)s, %(kind)s, %(times)s)
ON CONFLICT (provider, code, detail)
DO UPDATE SET at = now(), times = alert.times + excluded.times, kind = excluded.kind
RETURNING (SELECT at FROM earlier)
"""

_overheard: SimpleQueue[tuple[str, AccountAlert]] = SimpleQueue()


@transaction.atomic
def note(provider: str, alert: AccountAlert, times: int = 1) -> None:
    """Keep what a vendor said of the account, and say it in the log."""
    log.warning("account_alert", provider=provider, code=alert.code, kind=alert.kind.value)
    earlier = _keep(provider, alert, times)
    if provider not in registry.live_providers():
        return
    words = f"{alert.code}: {alert.detail}" if alert.detail else alert.code
    if alert.kind is AlertKind.REFUSED:
        breaker_state.write(circuit_breaker.accused(provider, words, settings.BREAKER_LONGEST))
    elif alert.kind in {AlertKind.WARNING, AlertKind.TEMPLATE} and _is_of_another_day(earlier):
        _warn(provider, alert, words)


def _keep(provider: str, alert: AccountAlert, times: int) -> datetime | None:
    """When it was said before, if it was."""
    said = {
        "provider": provider,
        "code": alert.code[:60],
        "detail": alert.detail[:300],
        "kind": alert.kind.value,
        "times": times,
    }
    with connection.cursor() as cursor:
        cursor.execute(_NOTE, said)
        earlier: datetime | None = cursor.fetchone()[0]
    return earlier


def _is_of_another_day(earlier: datetime | None) -> bool:
    return earlier is None or earlier.date() < timezone.now().date()


def _warn(provider: str, alert: AccountAlert, words: str) -> None:
    """Once a day for the same words."""
    context = {
        "title": error_texts.provider_title(provider),
        "meaning": error_texts.alert_meaning(provider, alert.code, alert.kind.value),
        "said": words,
        "path": reverse("admin:providers"),
    }
    about = f"{provider}:{words}:{timezone.now():%Y%m%d}"
    operator_mail.write(template="provider_alert", context=context, about=about)


def overhear(provider: str, alert: AccountAlert) -> None:
    """From a provider's thread, which has no database: noted by whoever does, in a moment."""
    _overheard.put((provider, alert))


def note_overheard() -> None:
    """The same words, however often, in one statement: thousands of refusals hold up no round."""
    heard: Counter[tuple[str, AccountAlert]] = Counter()
    try:
        while True:
            heard[_overheard.get_nowait()] += 1
    except Empty:
        pass
    for (provider, alert), times in heard.items():
        note(provider, alert, times)
