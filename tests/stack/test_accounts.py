"""Two accounts of one vendor: a hanging one is skipped and slows nobody."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.utils import timezone

from channels.models import Attempt, Message, ProviderAccount
from tests.channels.accounts import KZ
from tests.ports import free_port
from tests.stack.carrier import Carrier
from tests.stack.programs import Program, wait_until
from tests.stack.sender import Sender
from tests.stack.stack import SIMULATOR, Outcome, Stack

pytestmark = pytest.mark.timeout(300)  # two restarts, and calls that hang, on a busy machine

SHARE = 24  # threads of 32 that one account may have
DELIVERED = Outcome(["delivered"], charged=1, copies=1)
PATIENT = {"PROVIDER_TIMEOUT": "1,12", "LEASE": "20"}  # so that what hangs does so for a while


@pytest.fixture(scope="module")
def second(running_stack: Stack) -> Iterator[Carrier]:
    """A second account with Twilio, played by its own simulator."""
    stack = running_stack
    port = free_port()
    own = {"SIMULATOR_PORT": str(port), "SIMULATOR_LOG": str(stack.logs / "kz.sqlite3")}
    url = f"http://127.0.0.1:{port}"
    environ = stack.simulator.environ | own
    simulator = Program(SIMULATOR, log=stack.logs / "kz.log", environ=environ, url=f"{url}/livez")
    simulator.start()
    urls = f"{os.environ['VENDOR_URLS']},twilio:kz={url}/twilio"
    named = {"TWILIO_ACCOUNTS": "kz", "VENDOR_URLS": urls} | {
        f"TWILIO_KZ_{name}": os.environ[f"TWILIO_{name}"]
        for name in ("ACCOUNT_SID", "AUTH_TOKEN", "FROM")
    }
    _restart(stack, **named, **PATIENT)
    yield Carrier(url)
    simulator.kill()
    _restart(stack)


@pytest.fixture
def kz(second: Carrier) -> Iterator[Carrier]:
    yield second
    ProviderAccount.objects.all().delete()


def _restart(stack: Stack, **environ: str) -> None:
    for program in (stack.web, stack.worker):
        program.terminate()
        program.wait_stopped(40)
        program.start(**environ)


def _breaker_is_open() -> bool:
    return ProviderAccount.objects.filter(name="twilio", open_until__isnull=False).exists()


def _carriers(phone: str) -> list[str]:
    tried = Attempt.objects.filter(message__phone=phone).order_by("n")
    return list(tried.values_list("provider", flat=True))


def test_hanging_account_opens_breaker_and_slows_no_other(
    stack: Stack, kz: Carrier, sender: Sender, threads: ThreadPoolExecutor
) -> None:
    hung = stack.phones(SHARE)
    beside = stack.phones(4)
    calls = Attempt.objects.filter(provider="twilio", message__phone__in=hung)
    stack.carrier.set_fault("hang", channel="sms", times=SHARE)

    for phone in hung:
        threads.submit(sender.send_code, phone, channel="sms")
    wait_until(lambda: calls.count() == SHARE)
    for phone, channel in zip(beside, ["whatsapp", "telegram"] * 2, strict=True):
        sender.send_code(phone, channel=channel)
    by_kz = stack.phone()
    sender.send_code(by_kz, channel="sms")

    assert stack.endings(beside) == [DELIVERED] * 4
    wait_until(lambda: Message.objects.get(phone=by_kz).state == "delivered")
    assert not _breaker_is_open()  # all of this came about while the calls still hung
    assert (_carriers(by_kz), len(kz.messages(by_kz))) == ([KZ], 1)
    wait_until(_breaker_is_open, 30)
    wait_until(lambda: _is_closed_by_a_probe(stack, sender), 30)
    assert stack.endings(hung) == [Outcome(["delivered"], charged=16, copies=1)] * SHARE


def _is_closed_by_a_probe(stack: Stack, sender: Sender) -> bool:
    """Sends only when one may probe: the tokens are not without end."""
    if ProviderAccount.objects.filter(name="twilio", open_until__lte=timezone.now()).exists():
        sender.send_code(stack.phone(), channel="sms")
    return not _breaker_is_open()


def test_account_fault_moves_the_message_to_another_account_once(
    stack: Stack, kz: Carrier, sender: Sender
) -> None:
    phone = stack.phone()
    after = stack.phone()
    stack.carrier.set_fault("account", channel="sms", times=1)

    first = sender.send_code(phone, channel="sms")
    second = sender.send_code(after, channel="sms")

    assert [response.status_code for response in (first, second)] == [200, 200]
    assert (_carriers(phone), _carriers(after)) == (["twilio", KZ], [KZ])
    assert len(kz.messages(phone)) == 1
    assert stack.ending(phone).charged == 16
    assert stack.carrier.messages(phone) == []
