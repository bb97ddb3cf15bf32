"""Companies that fall back, and what their books say of a message."""

from collections.abc import Callable
from functools import partial
from uuid import uuid4

from accounts.keys import api_keys
from accounts.models import Company
from billing.models import Transfer
from channels.deliver import sweeps
from channels.lifecycle.state_machine import Event, EventKind
from channels.models import Attempt, Message
from channels.outcomes import apply
from tests.api.clients import Api
from tests.channels.lives import PHONE, accepted, claim
from tests.otp.aging import age_rows

URL = "https://example.com/"


def falls_back(company: Company, *chain: str, **fields: int | str) -> None:
    Company.objects.filter(pk=company.pk).update(
        falls_back=True, fallback_chain=list(chain), **fields
    )
    api_keys.clear_cache()


def transfers(message: Message) -> list[tuple[str, int, str]]:
    """(kind, amount, why) in their order."""
    rows = Transfer.objects.filter(message_id=message.pk).order_by("id")
    return [(row.kind, row.amount, row.proof or row.reason) for row in rows]


def turns(message: Message) -> list[tuple[str, str]]:
    return list(message.turns.order_by("id").values_list("why", "channel"))


def tries(message: Message) -> list[tuple[str, str]]:
    return list(message.attempts.order_by("n").values_list("channel", "state"))


def silent(api: Api, phone: str = PHONE, **fields: object) -> Attempt:
    """Accepted by the vendor of the first channel, and no word of it since: patience is over."""
    attempt = accepted(api, phone, **fields)
    age_rows(seconds=31)
    return attempt


def moved(api: Api, phone: str = PHONE) -> Attempt:
    """The first try, closed; the next channel is due."""
    attempt = silent(api, phone)
    assert sweeps.fall_back() == 1
    attempt.refresh_from_db()
    return attempt


def handed_over(api: Api) -> tuple[Attempt, Attempt]:
    """The first try, closed, and the second in the next vendor's hands."""
    first = moved(api)
    claim()
    second = Attempt.objects.get(message=first.message, n=2)
    hear(second, EventKind.ACCEPTED, provider_id=f"vendor-{uuid4()}")
    return first, second


def hearing(attempt: Attempt, what: EventKind) -> Callable[[], object]:
    return partial(hear, attempt, what)


def hear(attempt: Attempt, what: EventKind, **fields: str) -> None:
    apply.apply([Event(attempt.id, what, **fields)])  # type: ignore[arg-type]
