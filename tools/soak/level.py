"""Whether a figure stays level: the last quarter of a soak beside the second.

The first quarter fills caches and pools. What is kept on purpose (Redis has idempotency keys for a
day, tables their history) grows with the load and is not judged.
"""

from collections.abc import Callable, Iterator, Sequence
from statistics import median

from tools.soak.samples import Sample

MEMORY, OTHERS = 1.1, 1.2  # how much more the last quarter may have
SLACK = 4.0  # megabytes, connections, threads: below that a ratio says nothing
ROWS_SLACK = 5_000


def rises(samples: Sequence[Sample]) -> list[str]:
    """One line for each figure that rose."""
    if len(samples) < 8:
        return []
    return [
        line
        for name, value, most, slack in _figures(samples)
        if (line := _rise(name, [value(sample) for sample in samples], most, slack))
    ]


def _figures(
    samples: Sequence[Sample],
) -> Iterator[tuple[str, Callable[[Sample], float], float, float]]:
    for name in samples[-1].memory:
        yield f"memory of {name}, MB", lambda one, name=name: one.memory[name], MEMORY, SLACK  # type: ignore[misc]
    yield "open files", lambda one: one.files, OTHERS, SLACK
    yield "threads", lambda one: one.threads, OTHERS, SLACK
    yield "connections", lambda one: one.connections, OTHERS, SLACK
    yield "dead rows", lambda one: one.dead_rows, OTHERS, ROWS_SLACK
    yield "open messages", lambda one: one.open_messages, OTHERS, SLACK


def _rise(name: str, values: Sequence[float], most: float, slack: float) -> str:
    before, after = quarters(values)
    if after <= before * most + slack:
        return ""
    return f"{name}: {before:,.0f} in the second quarter, {after:,.0f} in the last"


def quarters(values: Sequence[float]) -> tuple[float, float]:
    """Medians of the second and of the last quarter."""
    part = len(values) // 4
    return median(values[part : 2 * part]), median(values[-part:])
