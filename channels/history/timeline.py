"""The events of one message for the cabinet's page. They never contain the code."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from billing.models import Transfer
from catalogue.channels import by_stored_name
from catalogue.texts import StrOrPromise
from channels import extensions
from channels.extensions import TimelineEntry
from channels.history.route_text import route_text
from channels.lifecycle.snapshots import FallbackReason
from channels.models import Attempt, FallbackEvent, Message, Receipt
from channels.vendor_accounts import error_texts
from webhooks.models import Delivery, EventKind

ONE_COMMIT = timedelta(seconds=1)  # maximum duration of the statements of a commit
RECEIPT_TITLES: dict[str, tuple[StrOrPromise, str]] = {
    "sent": (gettext_lazy("Forwarded to the phone"), ""),
    "delivered": (gettext_lazy("Delivered to the phone"), "success"),
    "read": (gettext_lazy("Read"), "success"),
    "failed": (gettext_lazy("Not delivered"), "danger"),
    "unreachable": (gettext_lazy("Not delivered"), "danger"),
    "barred": (gettext_lazy("Barred by the subscriber"), "danger"),
    "expired": (gettext_lazy("Not delivered in time"), "danger"),
}


WEBHOOK_TITLES: dict[str, tuple[StrOrPromise, str]] = {
    "pending": (gettext_lazy("Webhook is on its way"), ""),
    "delivered": (gettext_lazy("Webhook accepted"), "success"),
    "failed": (gettext_lazy("Webhook not accepted"), "warning"),
}


def timeline(message: Message, *, with_webhooks: bool = True) -> list[TimelineEntry]:
    """All events in order; webhook events only for members who may see them."""
    steps = [TimelineEntry(message.created_at, _("Accepted for sending"))]
    if route := message.params.get("route"):
        title = _("Channels chosen by smart routing")
        steps.append(TimelineEntry(message.created_at, title, detail=route_text(route)))
    for attempt in message.attempts.prefetch_related("receipts").order_by("n"):
        steps += _of_attempt(attempt)
    decisions = list(message.fallback_events.order_by("id"))
    steps += map(_of_fallback_event, decisions)
    moves = [_of_transfer(move) for move in Transfer.objects.of_message(message.id)]
    steps += moves[:1]  # the hold of the send
    steps += [replace(step, at=_caused_at(step.at, decisions)) for step in moves[1:]]
    steps += extensions.kinds[message.kind].timeline(message)
    if with_webhooks:
        steps += map(_of_delivery, _deliveries(message))
    if message.finished_at and message.state in Message.FAILED_STATES:
        steps.append(_final_failure(message, message.finished_at))
    steps = [replace(step, after=_milliseconds(step.at - message.created_at)) for step in steps]
    steps.sort(key=lambda step: step.at)  # stable: equal times keep this order
    days = [timezone.localdate(step.at) for step in steps]
    return [
        replace(step, is_of_a_new_day=day != before)
        for step, day, before in zip(steps, days, [None, *days], strict=False)
    ]


def _caused_at(at: datetime, decisions: list[FallbackEvent]) -> datetime:
    """The time of the fallback decision that caused a transfer at `at`, else `at` itself.

    A commit that switches the channel writes the wallet first and the reason later.
    """
    later = (event.at for event in decisions if at < event.at <= at + ONE_COMMIT)
    return min(later, default=at)


def _milliseconds(elapsed: timedelta) -> int:
    return max(0, round(elapsed.total_seconds() * 1000))


def _of_attempt(attempt: Attempt) -> Iterator[TimelineEntry]:
    channel = {"channel": attempt.get_channel_display()}
    by = error_texts.provider_title(attempt.provider)
    is_sms = by_stored_name(attempt.channel).has_segments
    title = _("Handed over to the SMS carrier") if is_sms else _("Handed over to %(channel)s")
    yield TimelineEntry(attempt.started_at, title % ({} if is_sms else channel), detail=by)
    if attempt.accepted_at:
        yield TimelineEntry(attempt.accepted_at, _("%(channel)s took the message") % channel)
    receipts = list(attempt.receipts.all())
    yield from map(_of_receipt, receipts)
    is_explained = attempt.error_class == FallbackReason.PATIENCE or any(
        receipt.error_code for receipt in receipts
    )
    if attempt.error_class and not is_explained:
        yield _of_failure(attempt)


def _of_failure(attempt: Attempt) -> TimelineEntry:
    channel = {"channel": attempt.get_channel_display()}
    is_unclear = attempt.error_class == "ambiguous"
    return TimelineEntry(
        attempt.finished_at or attempt.started_at,
        (_("No clear answer from %(channel)s") if is_unclear else _("%(channel)s: refused"))
        % channel,
        tone="warning" if is_unclear else "danger",
        detail=error_texts.failure_text(attempt.provider, attempt.error_code, attempt.error_class),
        code=attempt.error_code,
    )


def _of_receipt(receipt: Receipt) -> TimelineEntry:
    title, tone = RECEIPT_TITLES.get(receipt.state, (receipt.vendor_status, ""))
    if tone != "danger":
        return TimelineEntry(receipt.received_at, title, tone)
    return TimelineEntry(
        receipt.received_at,
        title,
        tone,
        error_texts.receipt_failure_text(receipt),
        receipt.error_code,
    )


def _of_fallback_event(event: FallbackEvent) -> TimelineEntry:
    title, tone, detail = error_texts.FALLBACK_EVENT_TEXTS[FallbackReason(event.reason)]
    return TimelineEntry(event.at, title % {"channel": event.get_channel_display()}, tone, detail)


def _of_transfer(transfer: Transfer) -> TimelineEntry:
    tokens = transfer.amount
    if transfer.kind == Transfer.Kind.CAPTURE:
        title = ngettext("%(n)d token charged", "%(n)d tokens charged", tokens)
        return TimelineEntry(
            transfer.created_at, title % {"n": tokens}, detail=transfer.get_proof_display()
        )
    if transfer.kind == Transfer.Kind.RELEASE:
        title = ngettext("%(n)d token returned", "%(n)d tokens returned", tokens)
        reason = error_texts.REASONS.get(transfer.reason, transfer.reason)
        return TimelineEntry(transfer.created_at, title % {"n": tokens}, detail=reason)
    title = ngettext("%(n)d token held", "%(n)d tokens held", tokens)
    return TimelineEntry(
        transfer.created_at, title % {"n": tokens}, detail=_("charged only when delivered")
    )


def _deliveries(message: Message) -> QuerySet[Delivery]:
    kinds = [kind for kind in EventKind.values if kind.startswith("message.")]
    return Delivery.objects.filter(
        event__company=message.company_id,
        event__mode=message.mode,
        event__kind__in=kinds,
        event__key=message.public_id,
    ).select_related("event", "endpoint")


def _of_delivery(delivery: Delivery) -> TimelineEntry:
    title, tone = WEBHOOK_TITLES[delivery.state]
    text = f"{delivery.event.kind} → {delivery.called_url}"
    return TimelineEntry(delivery.created_at, title, tone, text)


def _final_failure(message: Message, at: datetime) -> TimelineEntry:
    title = capfirst(message.get_state_display())
    return TimelineEntry(
        at,
        title,
        "danger",
        error_texts.api_error_text(message.error),
        advice=error_texts.advice_text(message),
    )
