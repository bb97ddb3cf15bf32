"""The figures of a drill, and the promises that they keep or break."""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db import connection

from tools.drills.scenarios import Scenario

# On the tables of `tools.chaos.checks.external_records`.
COUNTS = {
    "accepted": "SELECT count(DISTINCT message_id) FROM client_call WHERE status = 200",
    "lost": """
        SELECT count(DISTINCT c.message_id) FROM client_call c
        LEFT JOIN channels_message m ON m.id = c.message_id
        WHERE c.status = 200 AND (m.id IS NULL OR m.state IN ('queued', 'sent'))""",
    "delivered": "SELECT count(*) FROM channels_message WHERE state = 'delivered'",
    "expired": "SELECT count(*) FROM channels_message WHERE state IN ('expired', 'failed')",
    "charged_twice": """
        SELECT count(*) FROM (SELECT message_id FROM billing_transfer WHERE kind = 'capture'
          GROUP BY message_id HAVING count(*) > 1) AS twice""",
    "sent_twice": """
        SELECT count(*) FROM (SELECT message_id FROM phone_message WHERE message_id IS NOT NULL
          GROUP BY message_id HAVING count(*) > 1) AS twice""",
    "repeated": """
        SELECT count(*) FROM (SELECT key FROM client_call GROUP BY key HAVING count(*) > 1) AS r""",
}
_ANSWERS = "SELECT at FROM calls WHERE status = 200"
_ORDERS = "SELECT phone, at FROM orders"
_ARRIVALS = "SELECT phone, at FROM messages"


@dataclass(frozen=True)
class Figures:
    accepted: int
    lost: int
    delivered: int
    expired: int  # with the sender told so, and uncharged: whether a call was made is not known
    charged_twice: int
    sent_twice: int
    repeated: int  # calls that a sender repeated with their key
    silence: float  # the longest time without an answer, in seconds
    first_delivery: float  # seconds from the loss
    deaths: Mapping[str, int]
    broken_checks: Sequence[str]

    def lines(self, scenario: Scenario) -> list[str]:
        rows = [
            ("sends accepted", self.accepted, ""),
            ("  lost", self.lost, "0"),
            ("  delivered", self.delivered, ""),
            ("  expired, and told so", self.expired, ""),
            ("charged twice", self.charged_twice, "0"),
            ("on a phone twice", self.sent_twice, "0"),
            ("repeated by their sender", self.repeated, ""),
            ("seconds without answers", f"{self.silence:.1f}", f"≤ {scenario.max_silence:.0f}"),
            (
                "seconds until the first delivery",
                f"{self.first_delivery:.1f}",
                f"≤ {scenario.max_delivery:.0f}",
            ),
            ("processes that ended by themselves", sum(self.deaths.values()), "0"),
            ("checks broken", len(self.broken_checks), "0"),
        ]
        return [f"{name:<36}{value!s:>8}   {promise}".rstrip() for name, value, promise in rows]

    def breaches(self, scenario: Scenario) -> list[str]:
        """The promises that are broken, as one line each."""
        found = [
            f"{getattr(self, name)} sends were {name.replace('_', ' ')}"
            for name in ("lost", "charged_twice", "sent_twice")
            if getattr(self, name)
        ]
        if self.silence > scenario.max_silence:
            found.append(f"no answer for {self.silence:.1f} s")
        if self.first_delivery > scenario.max_delivery:
            found.append(f"no delivery for {self.first_delivery:.1f} s")
        if not self.accepted:
            found.append("no send was accepted")
        return [*found, *self.deaths, *self.broken_checks]


def counts() -> dict[str, int]:
    found = {}
    with connection.cursor() as cursor:
        for name, query in COUNTS.items():
            cursor.execute(query)
            (found[name],) = cursor.fetchone()
    return found


def times(journal: Path, simulator_log: Path, lost_at: float, ends_at: float) -> dict[str, float]:
    """`silence` and `first_delivery`; the moments are Unix seconds."""
    answers = [at for (at,) in _rows(journal, _ANSWERS)]
    placed = {str(phone): at for phone, at in _rows(journal, _ORDERS)}
    arrivals = [(f"+{phone}", at) for phone, at in _rows(simulator_log, _ARRIVALS)]
    return {
        "silence": longest_gap(answers, lost_at, ends_at),
        "first_delivery": first_arrival(arrivals, placed, lost_at) - lost_at,
    }


def longest_gap(moments: Iterable[float], begin: float, end: float) -> float:
    within = sorted(moment for moment in moments if begin < moment < end)
    return max(
        after - before for before, after in zip([begin, *within], [*within, end], strict=True)
    )


def first_arrival(
    arrivals: Iterable[tuple[str, float]], placed: Mapping[str, float], since: float
) -> float:
    """Of a message that was asked for since then; infinity if none arrived."""
    return min((at for phone, at in arrivals if placed.get(phone, 0.0) >= since), default=_NEVER)


_NEVER = float("inf")


def _rows(path: Path, query: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as file:
        return file.execute(query).fetchall()
