"""The service of a live run: its own stores, one vendor a channel, everything else as usual."""

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

import django
import requests
from django.core.management import call_command

from config.local.embedded import temporary
from tools.bench.stack.stack import Stack

# SMSC has words for a subscriber's bar. A bot would be a second Telegram.
VENDORS = {"SIMULATED_SMS": "smsc"}
WITHOUT = {"TELEGRAM_BOT_TOKEN": ""}
BATCH = 500  # phones, which the simulator takes in one call
WEB_PROCESSES = 2  # `tools.bench.stack.programs.web`


@contextmanager
def prepared_stack() -> Iterator[Stack]:
    """With Django set up for its empty database; nothing else is running yet."""
    with (
        tempfile.TemporaryDirectory(prefix="kvitok-replay-") as place,
        temporary(durable=True, environ={}) as servers,
    ):
        (Path(place) / "log").mkdir()
        stack = Stack(servers, Path(place), VENDORS)
        stack.environ |= WITHOUT
        os.environ.update(stack.environ | {"DJANGO_SETTINGS_MODULE": "config.settings"})
        django.setup()
        try:
            call_command("migrate", verbosity=0)
            yield stack
        finally:
            stack.close()


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
