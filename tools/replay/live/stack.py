"""The service of a live run: its own stores, one vendor a channel, everything else as usual."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import requests
from django.core.management import call_command

from tools.stack.stack import Stack, temporary_stack

# SMSC has words for a subscriber's bar. A bot would be a second Telegram.
VENDORS = {"SIMULATED_SMS": "smsc"}
WITHOUT = {"TELEGRAM_BOT_TOKEN": ""}
BATCH = 500  # phones, which the simulator takes in one call
WEB_PROCESSES = 2  # `tools.stack.programs.web`


@contextmanager
def prepared_stack() -> Iterator[Stack]:
    """With Django set up for its empty database; nothing else is running yet."""
    with temporary_stack("replay", options=VENDORS) as stack:
        stack.environ |= WITHOUT
        stack.set_up_django()
        call_command("migrate", verbosity=0)
        yield stack


def api(stack: Stack) -> str:
    return f"http://127.0.0.1:{stack.web}"


def simulator_log(stack: Stack) -> Path:
    return stack.place / "simulator.sqlite3"


def script(stack: Stack, outcomes: Mapping[str, Any]) -> None:
    """Tells the simulator what becomes of each number's messages."""
    left = iter(outcomes.items())
    while some := dict(islice(left, BATCH)):
        address = f"http://127.0.0.1:{stack.simulator}/outcomes"
        requests.post(address, json=some, timeout=30).raise_for_status()
