"""The statements of a message from request to capture, and other statements of hot calls."""

import random
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from statistics import median
from typing import Any
from uuid import UUID, uuid4

from django.test import Client
from django.utils import timezone

from catalogue.ids import first_id_at, parse_id
from channels.deliver import claims, sweeps
from channels.lifecycle.state_machine import Event, EventKind
from channels.models import Message
from channels.outcomes import due_receipts, inbound_receipts, transitions
from channels.providers.inbound import InboundEvents, Receipt, ReceiptState
from channels.vendor_accounts import availability
from links.clicks import counting
from links.models import Link
from otp import codes
from otp.check import settlement
from otp.models import Verification
from tools.growth.figures import Figure, Group
from tools.growth.recording import Probe, Reading, recorded

ROUNDS = 7
BATCH_SIZE = 8  # messages under way in each round
OLDEST = timedelta(days=25)
CLICKS_WAIT = 0.6  # seconds until the process has sent its clicks to Redis

Step = tuple[str, Callable[[], object]]


def measure(probe: Probe) -> Iterator[Figure]:
    """Medians of a few rounds, without the first one, which warms up caches."""
    measured: dict[str, list[list[Reading]]] = {}
    for number in range(ROUNDS + 1):
        for name, step in _steps(probe, _Round(probe)):
            with recorded() as readings:
                step()
            if number:
                measured.setdefault(name, []).append(readings)
    for name, rounds in measured.items():
        dearest = max(
            (statement for run in rounds for statement in run),
            key=lambda statement: statement.blocks,
        )
        blocks = round(median(sum(statement.blocks for statement in run) for run in rounds))
        ms = round(median(sum(statement.ms for statement in run) for run in rounds), 3)
        yield Figure(Group.HOT, name, blocks, ms, dearest.text[:2000])


def _steps(probe: Probe, state: "_Round") -> Iterator[Step]:
    yield "send a code", state.send_code
    yield "send a code with a link and a key", state.send_with_key
    yield "the same request once more", state.send_again
    yield "send a link", state.send_link
    for _ in range(BATCH_SIZE - 3):
        state.send_code()
    yield f"claim {BATCH_SIZE} messages", state.claim
    yield f"record {BATCH_SIZE} acceptances", state.accept
    yield f"store {BATCH_SIZE} receipts", state.store_receipts
    yield f"apply {BATCH_SIZE} receipts", due_receipts.apply_stored
    code = state.code()
    yield "check a code", lambda: state.check(code)
    yield "refuse a used code", lambda: state.refuse(code)
    yield "settle a verified code", settlement.settle_verified
    yield "sweep", sweeps.sweep
    yield "shorten a link", lambda: probe.post("/links/shorten", {"url": "https://example.com/a"})
    link, message = _old(Link, probe), _old(Message, probe)
    yield "follow a link for the first time", lambda: Client().get(f"/{link.slug}")
    time.sleep(CLICKS_WAIT)
    yield "count a click", counting.count_clicks
    yield "a message by its id", lambda: probe.get(f"/messages/{message.public_id}")
    yield "a link by its id", lambda: probe.get(f"/links/{link.public_id}")
    yield "the balance", lambda: probe.get("/balance")


class _Round:
    def __init__(self, probe: Probe) -> None:
        self.probe = probe
        self.sent: list[UUID] = []
        self.key = uuid4().hex
        self.claimed: list[claims.ClaimedMessage] = []

    def _post(self, path: str, body: dict[str, Any], **headers: str) -> None:
        response = self.probe.post(path, body, **headers)
        message = parse_id("msg", response["id"])
        assert message is not None  # noqa: S101 - the answer of a send has one
        self.sent.append(message)

    def send_code(self) -> None:
        self.phone = self.probe.new_phone()
        self._post("/otp/send", {"phone": self.phone, "channel": "sms"})

    def send_with_key(self) -> None:
        self.keyed = {"phone": self.probe.new_phone(), "link": "https://example.com/b"}
        self._post("/otp/send", self.keyed, **{"Idempotency-Key": self.key})

    def send_again(self) -> None:
        self.probe.post("/otp/send", self.keyed, **{"Idempotency-Key": self.key})

    def send_link(self) -> None:
        phone = self.probe.new_phone()
        self._post("/links/send", {"phone": phone, "url": "https://example.com/c"})

    def claim(self) -> None:
        availability.reset()
        self.claimed = claims.claim(BATCH_SIZE)
        if len(self.claimed) != BATCH_SIZE:
            raise RuntimeError(f"{len(self.claimed)} of {BATCH_SIZE} messages were claimed")

    def accept(self) -> None:
        transitions.commit_events(
            [
                Event(row.message_id, row.attempt_id, EventKind.ACCEPTED, row.attempt_id.hex)
                for row in self.claimed
            ]
        )

    def store_receipts(self) -> None:
        for claimed_message in self.claimed:
            receipt = Receipt(
                provider_id=claimed_message.attempt_id.hex,
                ref=None,
                state=ReceiptState.DELIVERED,
                vendor_status="ok",
            )
            events = InboundEvents(raw=b"{}", receipts=[receipt])
            inbound_receipts.store(claimed_message.provider, [events])

    def code(self) -> str:
        """The last code sent."""
        row = Verification.objects.get(pk=Message.objects.get(pk=self.sent[-1]).subject_id)
        return codes.derive(row.pk, key_id=row.key_id, length=row.length)

    def check(self, code: str) -> None:
        self.probe.post("/otp/verify", {"phone": self.phone, "code": code})

    def refuse(self, code: str) -> None:
        """Enters a code that was just used, like a second click on the button."""
        try:
            self.check(code)
        except RuntimeError:
            return
        raise RuntimeError("a code was accepted twice")


def _old(model: Any, probe: Probe) -> Any:
    """A row from a random time of the last weeks."""
    at = timezone.now() - OLDEST * random.random()  # noqa: S311 - nothing secret
    rows = model.objects.filter(company=probe.company, mode="live", pk__gte=first_id_at(at))
    return rows.order_by("pk")[0]
