"""One soak: start everything, send at a steady rate, look every few seconds, settle, count."""

import os
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from uuid import uuid4

import redis
import requests

from config.environment.variables import ROOT
from config.local.embedded import temporary
from tools.chaos.plan import SHORT, PlannedRequest, UserBehaviour
from tools.chaos.run import kept, prepare
from tools.chaos.traffic.client import Account, Backend
from tools.chaos.traffic.log_follower import Arrival, LogFollower
from tools.chaos.traffic.phone_users import PhoneUsers
from tools.drills.load import FIRST_PHONE, Load, broken_checks
from tools.drills.stack import Stack
from tools.soak.samples import Sample, Sampler

Say = Callable[[str], None]
COMPANIES, TOKENS = 20, 10_000_000
THREADS = 32
EVERY = 10.0  # seconds between two samples
# In turn: every channel, codes and links; every other code is entered.
KINDS = (("code", "whatsapp"), ("code", "sms"), ("code_link", "whatsapp"), ("link", "telegram"))


Keep = Callable[[list[Sample]], None]


def run(minutes: float, rate: float, say: Say, keep_samples: Keep) -> list[str]:
    """The promises broken; `keep_samples` gets what was seen before these are looked for."""
    place = ROOT / "var/soak" / str(os.getpid())
    with temporary(durable=True, environ={}) as servers, kept(place, servers, say) as keep:
        stack = Stack(servers, place, sentinels=None, has_smpp=False)
        os.environ.update(stack.environ)
        keep_samples(_samples(stack, minutes * 60, rate, say))
        broken = [*map(str, stack.deaths), *broken_checks(stack)]
        if not broken:
            keep.clear()
    return broken


def _samples(stack: Stack, seconds: float, rate: float, say: Say) -> list[Sample]:
    accounts = prepare([TOKENS] * COMPANIES, SHORT)
    stack.start()
    try:
        samples = _load(stack, accounts, seconds, rate, say)
        stack.stop()
    finally:
        stack.kill()
    return samples


def _load(
    stack: Stack, accounts: list[Account], seconds: float, rate: float, say: Say
) -> list[Sample]:
    orders = [_order(n, rate) for n in range(int(rate * seconds))]
    with Load(stack, accounts, THREADS) as load, ExitStack() as followers:
        backend, visitors = load.backend, Visitors()
        for people in (PhoneUsers(backend, orders, stack.carrier), visitors):
            follower = LogFollower(stack.simulator_log, people.arrive)  # a slow page delays no code
            follower.start()
            followers.callback(follower.close)
        begin = time.monotonic()
        backend.schedule(orders, begin)
        samples = _watch(stack, backend, begin, seconds, say)
        load.settle()
        say(f"{backend.answered:,} sends answered, {visitors.followed:,} links followed")
    return samples


def _watch(stack: Stack, backend: Backend, begin: float, seconds: float, say: Say) -> list[Sample]:
    """Samples until the load is over."""
    programs = {"web": stack.web, "worker": stack.worker, "beat": stack.beat}
    sampler = Sampler(programs, stack.postgres.url, redis.Redis.from_url(stack.redis.url))
    samples: list[Sample] = []

    def look() -> None:
        at = time.monotonic() - begin
        samples.append(sampler.take(at, backend.answered))
        if len(samples) % 6 == 1:
            say(_line(samples[-1]))
        if len(samples) * EVERY < seconds:
            stack.at(begin + len(samples) * EVERY, look)

    look()
    stack.run(lambda: time.monotonic() > begin + seconds, seconds + EVERY)
    sampler.close()
    return samples


def _line(sample: Sample) -> str:
    memory = ", ".join(f"{name} {size:.0f}" for name, size in sample.memory.items())
    return (
        f"{sample.at / 60:5.1f} min  {sample.answered:>8,} answered  "
        f"{sample.open_messages:>5} open  MB: {memory}, Redis {sample.redis:.0f}  "
        f"{sample.connections} connections  {sample.dead_rows:,} dead rows"
    )


def _order(n: int, rate: float) -> PlannedRequest:
    kind, channel = KINDS[n % len(KINDS)]
    return PlannedRequest(
        n=n,
        at=n / rate,
        company=n % COMPANIES,
        kind=kind,
        channel=channel,
        phone=f"+{FIRST_PHONE + n}",
        key=str(uuid4()),
        person=UserBehaviour.RIGHT if kind != "link" and n % 8 < 4 else None,
        delay=1.0,
    )


class Visitors:
    """People who follow each link that their phone got, once."""

    def __init__(self) -> None:
        self.followed = 0
        self._session = requests.Session()

    def arrive(self, arrival: Arrival) -> None:
        for link in arrival.links:
            with suppress(requests.RequestException):
                answer = self._session.get(link, allow_redirects=False, timeout=10)
                self.followed += answer.is_redirect
