"""A Celery worker that dies, as by a power cut, the first time it gets to the step DIE_AT."""

import os
import signal
from collections.abc import Sequence
from typing import NoReturn

import django

from config.celery import app

django.setup()

from accounts.webhooks import dispatcher as webhook_dispatcher  # noqa: E402 - Django comes first
from accounts.webhooks.http_call import CallOutcome  # noqa: E402
from channels.accept import outcome_waiting  # noqa: E402
from channels.deliver import claims, dispatcher  # noqa: E402
from channels.lifecycle.state_machine import Event, EventKind, MessageState  # noqa: E402
from channels.outcomes import apply as outcomes  # noqa: E402

__all__ = ["app"]

apply, publish = outcomes.apply, outcome_waiting.publish


def die() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def die_instead_of_call(claimed: claims.ClaimedMessage, start_before: float) -> Event:
    die()


def apply_unless_accepted(events: Sequence[Event]) -> list[MessageState]:
    if any(event.what is EventKind.ACCEPTED for event in events):
        die()
    return apply(events)


def publish_unless_sent(signals: Sequence[outcome_waiting.Signal]) -> None:
    if any(one.state == "sent" for one in signals):
        die()
    publish(signals)


def die_instead_of_record(outcomes: Sequence[CallOutcome]) -> None:
    die()


match os.environ["DIE_AT"]:
    case "call":
        dispatcher.hand_over = die_instead_of_call
    case "outcome":
        outcomes.apply = apply_unless_accepted
    case "webhook":
        webhook_dispatcher.record = die_instead_of_record
    case "signal":
        outcome_waiting.publish = publish_unless_sent
