"""What vendors say of our accounts, unasked: kept for the operator's desk, and heeded: an account
that its vendor says is at fault is left alone for a while.
"""

from queue import Empty, SimpleQueue

import structlog
from django.conf import settings
from django.db import connection
from django.urls import reverse
from django.utils import timezone

from channels import breaker, operators, registry, tripping, wording
from channels.providers.base import AccountAlert, AlertKind

log = structlog.get_logger(__name__)

# The same words again are one row that counts them: a vendor repeats itself by the thousand.
_NOTE = """
INSERT INTO channels_provideralert (provider, code, detail, kind)
VALUES (%s, %s, %s, %s)
ON CONFLICT (provider, code, detail)
DO UPDATE SET at = now(), times = channels_provideralert.times + 1, kind = excluded.kind
"""

_overheard: SimpleQueue[tuple[str, AccountAlert]] = SimpleQueue()


def note(provider: str, alert: AccountAlert) -> None:
    """Keep what a vendor said of the account, and say it in the log."""
    log.warning("account_alert", provider=provider, code=alert.code, kind=alert.kind.value)
    said = [provider, alert.code[:60], alert.detail[:300], alert.kind.value]
    with connection.cursor() as cursor:
        cursor.execute(_NOTE, said)
    if provider not in registry.live_providers():
        return
    words = f"{alert.code}: {alert.detail}" if alert.detail else alert.code
    if alert.kind is AlertKind.REFUSED:
        tripping.write(breaker.accused(provider, words, settings.BREAKER_LONGEST))
    elif alert.kind in {AlertKind.WARNING, AlertKind.TEMPLATE}:
        _warn(provider, alert, words)


def _warn(provider: str, alert: AccountAlert, words: str) -> None:
    """Once a day for the same words."""
    context = {
        "title": wording.provider_title(provider),
        "meaning": wording.alert_meaning(provider, alert.code, alert.kind.value),
        "said": words,
        "path": reverse("admin:providers"),
    }
    about = f"{provider}:{words}:{timezone.now():%Y%m%d}"
    operators.write(template="provider_alert", context=context, about=about)


def overhear(provider: str, alert: AccountAlert) -> None:
    """From a provider's thread, which has no database: noted by whoever does, in a moment."""
    _overheard.put((provider, alert))


def note_overheard() -> None:
    while True:
        try:
            provider, alert = _overheard.get_nowait()
        except Empty:
            return
        note(provider, alert)
