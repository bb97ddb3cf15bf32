"""A Celery worker that kills itself the first time it reaches the step DIE_AT."""

import os
import signal
from collections.abc import Sequence
from typing import NoReturn

import django

from config.celery import app

django.setup()

from channels.deliver import claims, dispatcher  # noqa: E402
from channels.lifecycle.state_machine import Event, EventKind  # noqa: E402
from channels.outcomes import unchanged_messages  # noqa: E402
from channels.waiting import outcome_signals  # noqa: E402
from webhooks import dispatcher as webhook_dispatcher  # noqa: E402 - Django comes first
from webhooks.http_call import CallOutcome  # noqa: E402

__all__ = ["app"]

write_unchanged = unchanged_messages.accept_unchanged
publish = outcome_signals.publish


def kill_self() -> NoReturn:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def kill_self_before_call(claimed: claims.ClaimedMessage, start_before: float) -> Event:
    kill_self()


def kill_self_on_accepted(events: Sequence[Event]) -> list[Event]:
    if any(event.kind is EventKind.ACCEPTED for event in events):
        kill_self()
    return write_unchanged(events)


def kill_self_on_sent_signal(signals: Sequence[outcome_signals.Signal]) -> None:
    if any(outcome.state == "sent" for outcome in signals):
        kill_self()
    publish(signals)


def kill_self_before_record(outcomes: Sequence[CallOutcome]) -> None:
    kill_self()


match os.environ["DIE_AT"]:
    case "call":
        dispatcher.hand_over = kill_self_before_call
    case "outcome":
        unchanged_messages.accept_unchanged = kill_self_on_accepted
    case "webhook":
        webhook_dispatcher.record = kill_self_before_record
    case "signal":
        outcome_signals.publish = kill_self_on_sent_signal
