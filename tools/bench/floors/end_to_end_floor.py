"""The floor of the whole path: the product's own statements, grouped as its worker groups them,
in one process through one pool. No HTTP, no provider, no Redis.

Speaks JSON lines: reads `accounts`, then `phones` repeatedly, and answers with the time each took.
"""

import hashlib
import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import django
import orjson

os.environ["DJANGO_SETTINGS_MODULE"] = "tools.bench.floors.floor_settings"
django.setup()

from django.db import connection, transaction  # noqa: E402 - Django comes first

from billing.wallet.ledger import DeliveryProof  # noqa: E402
from channels import sql as channels_sql  # noqa: E402
from channels.deliver import claims, dispatcher  # noqa: E402
from channels.lifecycle.state_machine import Event, EventKind  # noqa: E402
from channels.lifecycle.states import Decision  # noqa: E402
from channels.outcomes import receipts, receipts_sql, transitions  # noqa: E402
from storage.statements.json_rows import bytea, dump_rows  # noqa: E402
from storage.statements.named_rows import fetch_all  # noqa: E402
from tools.bench.floors import views  # noqa: E402
from tools.bench.results import percentile  # noqa: E402

THREADS = 7  # with the loop's own, as many as the pool has connections
RAW = bytes(700)  # as long as a vendor's receipt is
WARM_UP = 300
WORDS = {"sent": EventKind.ACCEPTED, "delivered": EventKind.DELIVERED}


class Path:
    """One flood: every message sent, claimed, recorded, its two receipts stored and applied."""

    def __init__(self, accounts: Sequence[Sequence[int]], pool: ThreadPoolExecutor) -> None:
        self._accounts, self._pool = accounts, pool
        self.accepted: dict[UUID, float] = {}
        self.taken: list[float] = []  # seconds from accepted to charged

    def run(self, phones: Sequence[str]) -> dict[str, Any]:
        started = time.perf_counter()
        left: list[Future[None]] = [
            self._pool.submit(self.send, number, phone) for number, phone in enumerate(phones)
        ]
        self.deliver(len(phones))
        for future in left:
            future.result()
        milliseconds = [s * 1000 for s in self.taken] or [0.0]
        return {
            "seconds": time.perf_counter() - started,
            "delivered": len(self.taken),
            "p50": percentile(milliseconds, 0.5),
            "p99": percentile(milliseconds, 0.99),
        }

    def deliver(self, many: int) -> None:
        left: list[Future[None]] = []
        until = time.perf_counter() + 120
        while len(self.taken) < many and time.perf_counter() < until:
            claimed = self._claim()
            left += [self._pool.submit(_store, row, word) for row in claimed for word in WORDS]
            if not self._apply() and not claimed:
                time.sleep(0.001)
        for future in left:
            future.result()

    def send(self, number: int, phone: str) -> None:
        company, key = self._accounts[number % len(self._accounts)]
        params = views.send_params(company, key, phone)
        with connection.cursor() as cursor:
            cursor.execute(views.SEND, params)
            cursor.fetchone()
        self.accepted[params["message_id"]] = time.perf_counter()

    def _claim(self) -> list[UUID]:
        """Claims a batch and records, in one commit, that the provider took it."""
        claimed = claims.claim(dispatcher.CLAIM_BATCH)
        events = [
            Event(row.message_id, row.attempt_id, EventKind.ACCEPTED, f"wamid.{row.attempt_id.hex}")
            for row in claimed
        ]
        if events:
            self._record(events)
        return [row.attempt_id for row in claimed]

    def _apply(self) -> int:
        """A group of receipts, in one commit."""
        with transaction.atomic(), connection.cursor() as cursor:
            due = {"limit": receipts.BATCH_SIZE, "patience": receipts.MATCH_TIMEOUT, "only": None}
            cursor.execute(channels_sql.recent(receipts_sql.DUE_RECEIPTS), due)
            rows = fetch_all(cursor, receipts.DueReceipt)
            events = [(row.id, _event(row, *row.matched)) for row in rows if row.matched]
            if events:
                decisions = transitions.apply_in_transaction(cursor, [event for _, event in events])
                applied: list[Any] = [
                    [row for row, _ in events],
                    [event.attempt_id for _, event in events],
                ]
                statement = channels_sql.recent(receipts_sql.MARK_RECEIPTS_APPLIED)
                cursor.execute(statement, applied)
                self._note(decisions)
        return len(rows)

    def _record(self, events: Sequence[Event]) -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            transitions.apply_in_transaction(cursor, events)

    def _note(self, decisions: Sequence[Decision]) -> None:
        now = time.perf_counter()
        for decision in decisions:
            if decision.message.state == "delivered":
                self.taken.append(now - self.accepted.get(decision.message.id, now))


def _event(row: receipts.DueReceipt, message_id: UUID, attempt_id: UUID) -> Event:
    proof = DeliveryProof.RECEIPT
    return Event(message_id, attempt_id, WORDS[row.state], row.provider_id, proof=proof, at=row.at)


def _store(attempt: UUID, word: str) -> None:
    at = datetime.now(UTC)
    digest = hashlib.sha256(f"{attempt} {word}".encode()).digest()
    row = {
        "provider": "whatsapp_cloud",
        "digest": bytea(digest),
        "provider_id": f"wamid.{attempt.hex}",
        "alternatives": [],
        "phone": "",
        "needs_phone": False,
        "ref": attempt,
        "state": word,
        "word": word,
        "error_code": "",
        "error_detail": "",
        "at": at,
        "raw": bytea(RAW),
    }
    with connection.cursor() as cursor:
        statement = receipts_sql.store(has_recipients=False, skips_known=True)
        cursor.execute(channels_sql.recent(statement), {"receipts": dump_rows([row])})


def main() -> int:
    accounts = orjson.loads(sys.stdin.buffer.readline())["accounts"]
    with ThreadPoolExecutor(THREADS) as pool:
        Path(accounts, pool).run([f"+78{number:09d}" for number in range(WARM_UP)])
        _say({"ready": True})
        for line in sys.stdin.buffer:
            _say(Path(accounts, pool).run(orjson.loads(line)["phones"]))
    return 0


def _say(message: dict[str, Any]) -> None:
    sys.stdout.buffer.write(orjson.dumps(message) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    sys.exit(main())
