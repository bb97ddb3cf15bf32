"""Companies with fallback, messages at each stage of it, and their transfers."""

from collections.abc import Callable
from functools import partial
from uuid import uuid4

from accounts.keys import api_keys
from accounts.models import Company
from billing.models import Transfer
from channels.deliver import sweeps
from channels.lifecycle.state_machine import EventKind
from channels.models import Attempt, Message
from tests.api.clients import Api
from tests.channels.message_stages import PHONE, accepted, apply_event, claim
from tests.otp.sent_codes import age_rows

URL = "https://example.com/"
MOVED = [("hold", 1, ""), ("release", 1, "patience"), ("hold", 16, "")]  # by `fallen_back`


def enable_fallback(company: Company, *chain: str, **fields: object) -> None:
    Company.objects.filter(pk=company.pk).update(
        falls_back=True, fallback_chain=list(chain), **fields
    )
    api_keys.clear_cache()


def transfers(message: Message) -> list[tuple[str, int, str]]:
    """Returns (kind, amount, proof or reason) of the transfers in their order."""
    rows = Transfer.objects.filter(message_id=message.pk).order_by("id")
    return [(row.kind, row.amount, row.proof or row.reason) for row in rows]


def fallback_events(message: Message) -> list[tuple[str, str]]:
    return list(message.fallback_events.order_by("id").values_list("reason", "channel"))


def tries(message: Message) -> list[tuple[str, str]]:
    return list(message.attempts.order_by("n").values_list("channel", "state"))


def past_patience(api: Api, phone: str = PHONE, **fields: object) -> Attempt:
    """Accepted by the vendor of the first channel, without a receipt until patience ends."""
    attempt = accepted(api, phone, **fields)
    age_rows(seconds=31)
    return attempt


def fallen_back(api: Api, phone: str = PHONE) -> Attempt:
    """The first attempt, expired; the next channel is due."""
    attempt = past_patience(api, phone)
    assert sweeps.fall_back() == 1
    attempt.refresh_from_db()
    return attempt


def handed_over(api: Api) -> tuple[Attempt, Attempt]:
    """The first attempt, expired, and the second, accepted by the next vendor."""
    first = fallen_back(api)
    claim()
    second = Attempt.objects.get(message=first.message, n=2)
    apply_event(second, EventKind.ACCEPTED, provider_id=f"vendor-{uuid4()}")
    return first, second


def event_applier(attempt: Attempt, kind: EventKind) -> Callable[[], object]:
    return partial(apply_event, attempt, kind)
