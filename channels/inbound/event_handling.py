"""Hands on what a vendor's call says: receipts, replies, the bot's updates, alerts."""

from collections.abc import Sequence

from channels.inbound import telegram_updates
from channels.outcomes import receipts
from channels.providers.inbound import InboundEvents
from channels.recipients import opt_out
from channels.vendor_accounts import vendor_alerts


def handle(provider: str, batch: Sequence[InboundEvents]) -> None:
    """Safe to repeat, as vendors do. Receipts come first: they tell who hides behind a user id."""
    new = receipts.store(provider, batch)
    for events in batch:
        for reply in events.replies:
            opt_out.apply_reply(provider, reply)
        for update in events.bot_updates:
            telegram_updates.apply(update)
        if new or not events.receipts:  # the alerts of a repeat have been recorded
            for alert in dict.fromkeys(events.alerts):
                vendor_alerts.record(provider, alert)
