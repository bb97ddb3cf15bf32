"""Vendors' alerts about our accounts: stored for the admin's page, and acted upon.

An alert that the account is at fault opens its circuit breaker.
"""

from collections import Counter
from contextlib import suppress
from datetime import datetime
from queue import Empty, SimpleQueue

import structlog
from django.conf import settings
from django.db import transaction
from django.urls import reverse
from django.utils import timezone

from channels.providers.inbound import AccountAlert, AlertKind
from channels.vendor_accounts import circuit_breaker, error_texts, operator_mail, registry
from parsing.characters import stored_text
from storage.statements import sql_files
from storage.statements.queries import fetch_value
from storage.store_errors import is_refusal

log = structlog.get_logger(__name__)

_UPSERT = sql_files.read("channels/vendor_accounts/vendor_alerts.sql")

_queue: SimpleQueue[tuple[str, AccountAlert]] = SimpleQueue()


@transaction.atomic
def record(provider: str, alert: AccountAlert, times: int = 1) -> None:
    """Stores and logs an alert; opens the breaker or e-mails the operators if it requires that."""
    log.warning("account_alert", provider=provider, code=alert.code, kind=alert.kind.value)
    earlier = _upsert(provider, alert, times)
    if provider not in registry.live_providers():
        return
    text = f"{alert.code}: {alert.detail}" if alert.detail else alert.code
    if alert.kind is AlertKind.REFUSED:
        circuit_breaker.write(
            circuit_breaker.trip_on_alert(provider, text, settings.MAX_BREAKER_PAUSE)
        )
    elif alert.kind in {AlertKind.WARNING, AlertKind.TEMPLATE} and (
        earlier is None or earlier.date() < timezone.now().date()  # the first one today
    ):
        _mail_warning(provider, alert, text)


# Any phone may choose a sender or a word: an e-mail for each would flood the operators.
WORDED_BY_OUTSIDERS = {"stop_unmatched", "receipt"}


def _upsert(provider: str, alert: AccountAlert, times: int) -> datetime | None:
    """Stores the alert; returns the time of the same alert before, if any."""
    params = {
        "provider": provider,
        "code": stored_text(alert.code, 60),
        "detail": stored_text(alert.detail, 300),
        "kind": alert.kind.value,
        "times": times,
    }
    earlier: datetime | None = fetch_value(_UPSERT, params)
    return earlier


def _mail_warning(provider: str, alert: AccountAlert, text: str) -> None:
    """Sends an e-mail at most once a day for the same text.

    If outsiders choose the text, it is once a day for the same code.
    """
    context = {
        "title": error_texts.provider_title(provider),
        "meaning": error_texts.alert_text(provider, alert.code, alert.kind.value),
        "reason": text,
        "path": reverse("admin:providers"),
    }
    repeated = alert.code if alert.code in WORDED_BY_OUTSIDERS else text
    key = f"{provider}:{repeated}:{timezone.now():%Y%m%d}"
    operator_mail.notify_operators(template="provider_alert", context=context, key=key)


def enqueue(provider: str, alert: AccountAlert) -> None:
    """Queues an alert on a provider's thread, which has no database: the dispatcher records it."""
    _queue.put((provider, alert))


def record_queued() -> None:
    """Records queued alerts, each distinct one in one statement: thousands cannot delay a round.

    While the database is down they stay in the queue.
    """
    counts: Counter[tuple[str, AccountAlert]] = Counter()
    with suppress(Empty):
        while True:
            counts[_queue.get_nowait()] += 1
    for alert, times in list(counts.items()):
        try:
            record(*alert, times)
        except Exception as error:
            if not is_refusal(error):
                for waiting in counts.elements():
                    _queue.put(waiting)
                raise
            # The other alerts have left the queue too.
            log.exception("alert_not_recorded", provider=alert[0])
        del counts[alert]
