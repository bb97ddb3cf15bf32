"""Celery's part: hints and housekeeping. The database says what is due."""

import structlog
from celery import shared_task

from channels import counting, purging, reconciliation, registry, sweeps
from channels.delivery import dispatcher
from channels.providers.base import SendError, TransientError
from channels.providers.telegram_bot import TelegramBot

log = structlog.get_logger(__name__)


@shared_task(name="channels.deliver_due")
def deliver_due() -> None:
    """The safety tick: the same round the delivery loop makes, unless it is making one."""
    dispatcher().tick()


@shared_task(name="channels.sweep")
def sweep() -> None:
    sweeps.sweeping.make()


@shared_task(name="channels.poll")
def poll() -> None:
    sweeps.polling.make()


@shared_task(name="channels.count_days")
def count_days() -> None:
    counting.count_days()


@shared_task(name="channels.purge")
def purge() -> None:
    purging.purge()


@shared_task(name="channels.check_ledger")
def check_ledger(*, recent: bool = False) -> None:
    for breach in reconciliation.breaches(recent=recent):
        log.error("ledger_breach", check=breach.check, subject=breach.subject)


@shared_task(
    name="channels.ask_contact", autoretry_for=(TransientError,), max_retries=3, retry_backoff=True
)
def ask_contact(chat_id: int, locale: str) -> None:
    """The bot answers /start by asking for the person's contact."""
    bot = registry.live_providers().get("telegram_bot")
    if isinstance(bot, TelegramBot):
        try:
            bot.ask_contact(chat_id, locale)
        except TransientError:
            raise
        except SendError as error:
            log.info("contact_not_asked", code=error.code)
