"""Celery tasks: housekeeping, and replies of the bots. The database decides what is due."""

import structlog
from celery import shared_task

from accounts import purges
from channels import full_reconciliation, reconciliation
from channels.deliver.heartbeats import HeartbeatWriter
from channels.history import day_counts, drop_watch
from channels.providers.base import SendError, TransientError
from channels.providers.bot import Bot, BotText
from channels.vendor_accounts import approvals, availability, registry
from processes.monitoring import metrics

log = structlog.get_logger(__name__)


@shared_task(name="channels.write_heartbeat")
def write_heartbeat() -> None:
    """Proves that the beat, the broker and a worker are alive."""
    HeartbeatWriter("beat", shared=True).write({})


@shared_task(name="channels.count_days")
def count_days() -> None:
    day_counts.count_days()


@shared_task(name="channels.watch_deliveries")
def watch_deliveries() -> None:
    drop_watch.watch()


@shared_task(name="channels.purge")
def purge() -> None:
    purges.purge()


@shared_task(name="channels.refresh_approvals")
def refresh_approvals() -> None:
    availability.refresh()  # includes accounts connected by operators
    approvals.refresh()


@shared_task(name="channels.check_ledger")
def check_ledger(*, recent: bool = False) -> None:
    report(list(reconciliation.breaches(recent=recent)), "recent" if recent else "changed")


def report(breaches: list[reconciliation.Breach], scope: str) -> None:
    for breach in breaches:
        log.error("ledger_breach", check=breach.check, subject=breach.subject)
    metrics.set_breaches(scope, len(breaches))
    reconciliation.remember(breaches, scope)


@shared_task(name="channels.check_whole_ledger")
def check_whole_ledger() -> None:
    """Checks a slice of the whole history; the next run continues."""
    if full_reconciliation.is_due():
        run = full_reconciliation.advance(full_reconciliation.SLICE)
        breaches = [reconciliation.Breach(*values) for values in run.breaches]
        report(breaches, "full")


@shared_task(
    name="channels.send_bot_reply",
    autoretry_for=(TransientError,),
    max_retries=3,
    retry_backoff=True,
)
def send_bot_reply(provider: str, chat_id: int, locale: str, reply: str) -> None:
    """Sends the bot's reply to /start, a shared contact or /stop."""
    bot = registry.live_providers().get(provider)
    if isinstance(bot, Bot):
        try:
            bot.answer(chat_id, locale, BotText(reply))
        except TransientError:
            raise
        except SendError as error:
            log.info("bot_reply_not_sent", provider=provider, code=error.code)
