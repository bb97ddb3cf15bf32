"""The way of one message through an idle service: each step, its process and its time."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import median
from typing import NamedTuple

from tools.bench.load import answered
from tools.bench.machine import members
from tools.bench.profile.python_stacks import Control
from tools.bench.profile.statements import StatementNames
from tools.bench.profile.windows import MessageLoad
from tools.bench.results import percentile
from tools.stack.seed import Phones
from tools.stack.stack import Stack

PAUSE = 0.25  # seconds between two messages: all of one is over before the next
WARM_UP = 20
AFTER = 0.1  # seconds after its answer in which steps still count as a message's
COMMON = 0.5  # of the messages must have a step for it to be shown
FASTEST = 4  # one in this many messages makes the timeline: the others waited for other programs


class Event(NamedTuple):
    began: float  # seconds, of the clock that all processes share
    ended: float
    process: str
    thread: str
    label: str


class Step(NamedTuple):
    """Medians over the messages that had it, in ms since the request was sent."""

    began: float
    ended: float
    process: str
    thread: str
    label: str
    share: float  # of the messages


class Timeline(NamedTuple):
    steps: list[Step]
    answers: list[float]  # ms


def measure(
    stack: Stack, control: Control, load: MessageLoad, phones: Phones, many: int
) -> Timeline:
    answered(stack.web, load.sends(phones.take(WARM_UP)), pause=PAUSE)
    control.begin()
    answered(stack.web, load.sends(phones.take(WARM_UP)), pause=PAUSE)
    spans = answered(stack.web, load.sends(phones.take(many)), pause=PAUSE).spans
    seen = events(control, members(stack), StatementNames.of_service())
    answers = [(end - start) * 1000 for start, end in spans]
    return Timeline(steps(fastest(spans), seen), answers)


def events(control: Control, names: Mapping[int, str], statements: StatementNames) -> list[Event]:
    seen = []
    python = {pid for pid, name in names.items() if name.startswith(("web", "worker", "beat"))}
    for pid, text in control.steps(python).items():
        process = names[pid].removesuffix(" 1").removesuffix(" 2")
        for began, ended, thread, label in json.loads(text):
            if label.startswith("SQL "):
                label = statements.of(label.removeprefix("SQL "))  # noqa: PLW2901
            seen.append(Event(began, ended, process, _kind(thread), label))
    return sorted(seen)


def _kind(thread: str) -> str:
    """Without the number of a thread among its equals."""
    name = "requests" if thread.startswith("Dummy") else thread
    return name.rstrip("0123456789-_")


def fastest(spans: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The spans that nothing else on the machine disturbed much."""
    ordered = sorted(spans, key=lambda span: span[1] - span[0])
    return ordered[: max(1, len(ordered) // FASTEST)]


def steps(spans: Sequence[tuple[float, float]], events: Sequence[Event]) -> list[Step]:
    """Each step by its process, thread, label and how often it had come before in its message."""
    seen: defaultdict[tuple[str, str, str, int], list[tuple[float, float]]] = defaultdict(list)
    for start, end in spans:
        count: defaultdict[tuple[str, str, str], int] = defaultdict(int)
        for event in events:
            if start <= event.began < end + AFTER:
                key = event.process, event.thread, event.label
                count[key] += 1
                seen[*key, count[key]].append((event.began - start, event.ended - start))
    made = [
        Step(
            1000 * median(began for began, _ in times),
            1000 * median(ended for _, ended in times),
            *key[:3],
            len(times) / len(spans),
        )
        for key, times in seen.items()
    ]
    return sorted(step for step in made if step.share >= COMMON)


def text(timeline: Timeline) -> str:
    answers = timeline.answers
    p50, p99 = percentile(answers, 0.5), percentile(answers, 0.99)
    best = percentile(answers, 0.5 / FASTEST)
    return "\n".join(
        [
            "One message at a time through an idle service, ms: medians of the fastest quarter of"
            f" {len(answers)}",
            f"{'begins':>8}{'ends':>8}{'takes':>8}  process and thread",
            *map(_line, timeline.steps),
            f"answered: {best:.2f} in the fastest quarter; of all p50 {p50:.2f}, p99 {p99:.2f}",
        ]
    )


def _line(step: Step) -> str:
    where = f"{step.process} {step.thread}"
    often = "" if step.share > 0.95 else f" ({step.share:.0%})"
    takes = step.ended - step.began
    return f"{step.began:8.2f}{step.ended:8.2f}{takes:8.2f}  {where:<30}{step.label}{often}"
