"""Runs a profile: seeds, starts the service, measures the windows, and says what came out."""

import argparse
from collections.abc import Callable
from typing import Any

import psycopg

from tools.bench import session
from tools.bench.profile import report, statement_log, timeline
from tools.bench.profile.control import Control
from tools.bench.profile.message_load import MessageLoad
from tools.bench.profile.windows import Profiler
from tools.stack import seed
from tools.stack.stack import Setup, Stack

DATABASE = "bench_profile"
WAITERS = 48  # as the service has by default


def measure(
    options: argparse.Namespace, stack: Stack, control: Control, say: Callable[[str], None]
) -> dict[str, Any]:
    """All figures, for the file."""
    accounts = session.seeded(seed.COMPANIES)
    stack.copy(DATABASE)
    with psycopg.connect(stack.url("postgres"), autocommit=True) as admin:
        statement_log.prepare(admin, DATABASE)
    stack.arrange(Setup(DATABASE, waiters=0 if options.no_wait else WAITERS, delivery=True))
    phones = seed.Phones()
    load = MessageLoad(stack, accounts, phones)
    if options.timeline:
        found = timeline.measure(stack, control, load, phones, options.timeline)
        say(timeline.text(found))
        return found._asdict()
    profiler = Profiler(
        stack, control, load, messages=options.messages, connections=options.connections, say=say
    )
    profile = profiler.run(options.rounds)
    say("\n" + report.text(profile))
    for program, lines in stack.complaints().items():
        say(f"{program} logged {len(lines)} errors, the first: {lines[0]}")
    return report.as_dict(profile)
