"""Every fault of every vendor: the message's final state, its cost, and the copies received.

The vendors are the simulator's, in its own process; the delivery loop, the hooks and the
sweeps are the real ones. Time passes by making rows older.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone
from pytest_django import Settings
from pytest_django.live_server_helper import LiveServer

from billing.wallet import ledger
from channels.deliver import sweeps
from channels.deliver.dispatcher import Dispatcher
from channels.models import Attempt, Message, Receipt
from channels.providers.vendors import VENDORS
from channels.waiting import wakeups
from tests.api.clients import Api
from tests.channels.accounts import set_account
from tests.channels.message_stages import message_of
from tests.stack.programs import wait_until
from tests.tools.simulator.peers import ACCOUNT, Simulator, get

pytestmark = pytest.mark.django_db(transaction=True)

TOKENS = 1000
LATE = 3000  # ms: enough to reach the deadline first
CODE = "/otp/send"
LINK = "/links/send"
SENDS: dict[str, tuple[str, str, int]] = {
    "whatsapp_cloud": (CODE, "whatsapp", 1),
    "telegram_gateway": (CODE, "telegram", 1),
    "telegram_bot": (LINK, "telegram", 1),
    "max_bot": (CODE, "max", 1),
    "twilio": (CODE, "sms", 16),
    "smsc": (CODE, "sms", 16),
}


ACCOUNTS = {
    "whatsapp_cloud": {
        "token": ACCOUNT["WHATSAPP_TOKEN"],
        "phone_number_id": ACCOUNT["WHATSAPP_PHONE_NUMBER_ID"],
        "app_secret": ACCOUNT["WHATSAPP_APP_SECRET"],
    },
    "telegram_gateway": {"token": ACCOUNT["TELEGRAM_GATEWAY_TOKEN"]},
    "telegram_bot": {"token": ACCOUNT["TELEGRAM_BOT_TOKEN"]},
    "max_bot": {"token": ACCOUNT["MAX_BOT_TOKEN"]},
    "twilio": {
        "account_sid": ACCOUNT["TWILIO_ACCOUNT_SID"],
        "auth_token": ACCOUNT["TWILIO_AUTH_TOKEN"],
        "sender": ACCOUNT["TWILIO_FROM"],
    },
    "smsc": {
        "login": ACCOUNT["SMSC_LOGIN"],
        "password": ACCOUNT["SMSC_PASSWORD"],
        "callback_secret": ACCOUNT["SMSC_CALLBACK_SECRET"],
    },
}


@dataclass(frozen=True)
class Row:
    state: str
    charged: bool
    copies: int
    steps: tuple[str, ...] = ()  # what has to pass before it ends
    error: str = ""


DELIVERED = Row("delivered", charged=True, copies=1)
ASKED = Row("delivered", charged=True, copies=1, steps=("ask",))
RETRIED = Row("delivered", charged=True, copies=1, steps=("retry",))
REFUSED = Row("failed", charged=False, copies=0, error="delivery_failed")
UNREACHABLE = Row("failed", charged=False, copies=0, error="recipient_unreachable")
GIVEN_UP = Row("expired", charged=False, copies=1, steps=("deadline",))
NEVER_SENT = Row("expired", charged=False, copies=0, steps=("deadline",))
ASKED_AND_RETRIED = Row("delivered", charged=True, copies=1, steps=("ask", "retry"))
TOO_LATE = Row("delivered", charged=False, copies=1, steps=("deadline", "receipts"))

# The simulator's faults, the row, and the rows of vendors that differ. An unclear outcome that no
# receipt clears up is free, and is never sent again unless the vendor says that it never came.
BOTS = ("telegram_bot", "max_bot")
BOTS_HAVE_NO_RECEIPTS = dict.fromkeys(BOTS, GIVEN_UP)
BOTS_ARE_PROVED_AT_ONCE = dict.fromkeys(BOTS, DELIVERED)
Case = tuple[list[dict[str, Any]], Row, dict[str, Row]]
FAULTS: dict[str, Case] = {
    "none": ([], DELIVERED, {}),
    "refusal": ([{"kind": "refuse"}], REFUSED, {}),
    "unreachable": ([{"kind": "unreachable"}], UNREACHABLE, {}),
    "throttle": ([{"kind": "throttle", "times": 1}], RETRIED, {}),
    "no connection": ([], RETRIED, {}),
    "5xx": ([{"kind": "server_error"}], DELIVERED, BOTS_HAVE_NO_RECEIPTS),
    "5xx, no receipt": (
        [{"kind": "server_error"}, {"kind": "no_receipt"}],
        GIVEN_UP,
        {"smsc": ASKED},
    ),
    "read timeout": ([{"kind": "hang", "latency_ms": 2000}], DELIVERED, BOTS_HAVE_NO_RECEIPTS),
    "reset after write": ([{"kind": "reset"}], DELIVERED, BOTS_HAVE_NO_RECEIPTS),
    "reset, never taken": ([{"kind": "lost", "times": 1}], NEVER_SENT, {"smsc": ASKED_AND_RETRIED}),
    "no receipt": (
        [{"kind": "no_receipt"}],
        ASKED,
        {"whatsapp_cloud": GIVEN_UP} | BOTS_ARE_PROVED_AT_ONCE,
    ),
    "duplicate receipts": ([{"kind": "duplicate_receipt"}], DELIVERED, {}),
    "reordered receipts": ([{"kind": "reorder_receipts"}], DELIVERED, {}),
    "late receipts": (
        [{"kind": "late_receipt", "latency_ms": LATE}],
        TOO_LATE,
        BOTS_ARE_PROVED_AT_ONCE,
    ),
}
RECEIPTS = {"duplicate receipts": 4, "5xx, no receipt": 0, "no receipt": 0}  # else 2 of a copy


@pytest.fixture(scope="module")
def simulator(
    live_server: LiveServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Simulator]:
    simulator = Simulator(tmp_path_factory.mktemp("simulator") / "log.sqlite3", live_server.url)
    yield simulator
    simulator.close()


@pytest.fixture
def accounts(settings: Settings, simulator: Simulator) -> Settings:
    """Accounts with every vendor, all played by the simulator."""
    settings.PUBLIC_URL = simulator.public_url
    settings.PROVIDER_TIMEOUT = (1.0, 0.6)
    settings.SEND_WAIT = 0.1
    for name, fields in ACCOUNTS.items():
        set_account(settings, name, fields)
    return settings


def point_vendors_at(settings: Settings, url: str) -> None:
    for name in ACCOUNTS:
        set_account(settings, name, {"api_url": f"{url}/{VENDORS[name].hook}"})


@dataclass
class Life:
    """A message from acceptance to its end, with its own clock."""

    message: Message
    simulator: Simulator
    settings: Settings
    receipts_expected: int

    @property
    def phone(self) -> str:
        return self.message.phone.removeprefix("+")

    def state(self) -> str:
        return Message.objects.get(pk=self.message.pk).state

    def attempt(self) -> Attempt | None:
        return Attempt.objects.filter(message=self.message).order_by("-n").first()

    def copies(self) -> list[dict[str, Any]]:
        return self.simulator.messages(self.phone)

    def retry(self) -> None:
        mine = Message.objects.filter(pk=self.message.pk, due_at__isnull=False, tries__gte=1)
        wait_until(mine.exists)
        point_vendors_at(self.settings, self.simulator.url)
        mine.update(due_at=_a_minute_ago())
        wakeups.wake_now()

    def ask(self) -> None:
        wait_until(lambda: all(copy["state"] == "delivered" for copy in self.copies()))
        asked = Attempt.objects.filter(message=self.message, poll_at__isnull=False)
        wait_until(asked.exists)
        asked.update(poll_at=_a_minute_ago())
        sweeps.poll()

    def deadline(self) -> None:
        wait_until(
            lambda: (attempt := self.attempt()) is not None and attempt.state != "submitting"
        )
        Message.objects.filter(pk=self.message.pk).update(deadline=_a_minute_ago())
        sweeps.sweep()
        assert self.state() == "expired"

    def receipts(self) -> None:
        """Waits until all receipts have come and a worker has applied them."""
        wait_until(lambda: len(self._told()) >= self.receipts_expected)
        wait_until(lambda: not Receipt.objects.filter(applied_at__isnull=True).exists())

    def _told(self) -> list[dict[str, Any]]:
        exchanges = get(f"{self.simulator.url}/exchanges?phone={self.phone}").json()
        return [
            exchange
            for exchange in exchanges
            if exchange["is_receipt"] and exchange["outcome"] == "200"
        ]


def _a_minute_ago() -> Any:
    return timezone.now() - timedelta(minutes=1)


def begin(api: Api, simulator: Simulator, accounts: Settings, provider: str, fault: str) -> Life:
    """Sets the faults of the message, and sends it."""
    path, channel, _ = SENDS[provider]
    for other, (_, its_channel, _) in SENDS.items():  # or a second try would use one of them
        if other != provider and its_channel == channel:
            set_account(accounts, other, {VENDORS[other].required: ""})
    point_vendors_at(accounts, "http://127.0.0.1:1" if fault == "no connection" else simulator.url)
    phone = f"7926{list(FAULTS).index(fault):03}{list(SENDS).index(provider):04}"
    for fields in FAULTS[fault][0]:
        simulator.set_fault(phone=phone, provider=provider, **fields)
    url = {"url": "https://example.com/"} if path == LINK else {}
    response = api.post(path, {"phone": f"+{phone}", "channel": channel} | url)
    message = message_of(response)
    row = row_of(provider, fault)
    receipt_count = 0 if provider in BOTS else RECEIPTS.get(fault, 2) * row.copies
    return Life(message, simulator, accounts, receipt_count)


def row_of(provider: str, fault: str) -> Row:
    _, usual, others = FAULTS[fault]
    return others.get(provider, usual)


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("provider", SENDS)
def test_provider_fault_has_its_documented_outcome(
    *,
    provider: str,
    fault: str,
    dispatcher: Dispatcher,
    api: Api,
    simulator: Simulator,
    accounts: Settings,
) -> None:
    row = row_of(provider, fault)

    life = begin(api, simulator, accounts, provider, fault)
    for step in row.steps:
        getattr(life, step)()
    wait_until(lambda: life.state() == row.state)
    life.receipts()

    message = Message.objects.get(pk=life.message.pk)
    spent = SENDS[provider][2] if row.charged else 0
    assert (message.state, message.error) == (row.state, row.error)
    assert ledger.balance(api.company.pk) == (TOKENS - spent, 0)
    assert len(life.copies()) == row.copies
    call_command("reconcile", verbosity=0)
