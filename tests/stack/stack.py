"""All of `make run` for tests: the stores, web, worker, beat and the simulator."""

import os
import signal
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import count
from pathlib import Path

from django.db import connections, models
from django.db.backends.postgresql.base import DatabaseWrapper
from django.db.models import Sum
from django.utils import timezone

from accounts.models import GuardMode
from billing.models import Transfer
from billing.wallet import ledger
from channels.models import Attempt, Message
from config.local.demo_environment import new_secrets, payment_accounts
from config.local.embedded import Servers
from config.local.store_servers import Postgres, Redis
from tests.factories import ApiKeyFactory, CompanyFactory
from tests.ports import free_port
from tests.stack.carrier import Carrier
from tests.stack.programs import Program, wait_until
from tests.stack.sender import Sender
from tools.stack.seed import lift_budgets

TOKENS = 1000  # what a sender has to begin with
SEND_WAIT = 2.0
SEND_WAITERS = 4
PROVIDER_READ = 3.0
BODY_TIMEOUT = 5.0
# Short, so that what a vendor's silence does can be seen within seconds.
SPEED = {
    "SEND_WAIT": str(SEND_WAIT),
    "SEND_WAITERS": str(SEND_WAITERS),
    "PROVIDER_TIMEOUT": f"1,{PROVIDER_READ}",
    "LEASE": "10",
    "MAX_BREAKER_PAUSE": "2",
    "BODY_TIMEOUT": str(BODY_TIMEOUT),
    "GRANIAN_BLOCKING_THREADS_IDLE_TIMEOUT": "5s",
}
OPEN = ("queued", "sent")
SIMULATOR = ("-m", "tools.simulator")


@dataclass(frozen=True)
class Outcome:
    """The final result of all messages to one phone."""

    states: list[str]
    charged: int
    copies: int


class Stack:
    def __init__(self, servers: Servers, database: str, logs: Path) -> None:
        assert servers.postgres is not None, "these tests kill PostgreSQL: unset DATABASE_URL"
        assert servers.redis is not None, "these tests kill Redis: unset REDIS_URL"
        self.postgres: Postgres = servers.postgres
        self.redis: Redis = servers.redis
        self.logs = logs
        self.url = f"http://127.0.0.1:{free_port()}"
        self.carrier = Carrier(os.environ["SIMULATOR_URL"])
        self._environ = _environ(self.url, database, logs)
        self.simulator = self._program("simulator", SIMULATOR, url=f"{self.carrier.url}/livez")
        self.web = self._program("web", _web(self.url), url=f"{self.url}/livez")
        self.web.die = signal.SIGTERM  # killed outright, granian would leave its workers behind
        self.worker = self._program("worker", _worker("config"), words=" ready.")
        self.beat = self._program("beat", _beat(logs / "beat-schedule"))
        self.programs = (self.web, self.beat, self.worker, self.simulator)
        self._numbers = count(1)

    def _program(
        self, name: str, command: Sequence[str], *, url: str = "", words: str = ""
    ) -> Program:
        log = self.logs / f"{name}.log"
        return Program(command, log=log, environ=self._environ, url=url, words=words)

    def start(self) -> None:
        for program in reversed(self.programs):
            program.launch()
        for program in self.programs:
            program.wait_ready()

    def stop(self) -> None:
        alive = [program for program in self.programs if program.process is not None]
        for program in alive:
            program.terminate()
        for program in alive:
            program.wait_stopped()

    def start_worker_that_dies_at(self, step: str) -> None:
        """Runs a worker that kills itself at this step (`failing_worker`)."""
        self.worker.kill()
        self.worker.launch(command=_worker("tests.stack.failing_worker"), DIE_AT=step)
        self.worker.wait_ready()

    def replace_dead_worker(self) -> None:
        self.worker.wait_stopped()
        self.worker.start()

    def kill_postgres(self) -> None:
        self.postgres.kill()
        drop_connections()

    def recover(self) -> None:
        """Restarts exited programs; then waits until sends get outcomes again."""
        for program in self.programs:
            if program.running.poll() is not None:
                program.kill()
                program.start()
        sender = self.sender()
        wait_until(
            lambda: sender.send_code(self.phone()).json().get("status") in {"sent", "delivered"}
        )

    def phone(self) -> str:
        """A phone without messages."""
        return f"+7926{next(self._numbers):07d}"

    def phones(self, total: int) -> list[str]:
        return [self.phone() for _ in range(total)]

    def sender(self, **company: object) -> Sender:
        """A company of its own with a live key and TOKENS tokens; nobody need enter its codes."""
        guarded = {"guard_mode": GuardMode.WATCH} | company
        key = ApiKeyFactory.create(company=CompanyFactory.create(**guarded))
        ledger.grant(company=key.company, amount=TOKENS, reason="tests")
        lift_budgets(key.company)
        return Sender(self.url, key.company, key.plaintext)

    def state(self, phone: str) -> str:
        """The state of the only message to this phone."""
        return Message.objects.get(phone=phone).state

    def ending(self, phone: str) -> Outcome:
        """Waits until every message to this phone is final; returns the result."""
        sent = Message.objects.filter(phone=phone)
        tried = Attempt.objects.filter(message__phone=phone)
        wait_until(
            lambda: not sent.filter(state__in=OPEN).exists(),
            on_timeout=lambda: [*sent.values(), *tried.values()],
        )
        return Outcome(
            states=list(sent.order_by("created_at").values_list("state", flat=True)),
            charged=_sum(_transfers(sent, Transfer.Kind.CAPTURE)),
            copies=len(self.carrier.messages(phone)),
        )

    def endings(self, phones: Iterable[str]) -> list[Outcome]:
        return [self.ending(phone) for phone in phones]

    def new_errors(self) -> list[str]:
        """Errors that the programs logged since the last call."""
        return [line for program in self.programs for line in program.new_errors()]

    def all_logs(self) -> bytes:
        """The logs of every process."""
        logs = [program.log for program in self.programs]
        return b"\n".join(log.read_bytes() for log in [*logs, self.postgres.log, self.redis.log])

    def proofs(self, phone: str) -> list[str]:
        """The proof of each charge for this phone."""
        sent = Message.objects.filter(phone=phone)
        return list(_transfers(sent, Transfer.Kind.CAPTURE).values_list("proof", flat=True))


def _environ(url: str, database: str, logs: Path) -> dict[str, str]:
    own = {
        "DATABASE_URL": database,
        "PUBLIC_URL": url,
        "SIMULATOR_LOG": str(logs / "simulator.sqlite3"),
        "PYTHONUNBUFFERED": "1",
        "LOG_LEVEL": "INFO",
    }
    if sys.dont_write_bytecode:  # a dozen starts would each compile everything again
        cache = str(logs / "bytecode")
        own |= {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": cache}
    payments = payment_accounts(os.environ["SIMULATOR_URL"], new_secrets(), os.environ)
    return dict(os.environ) | SPEED | payments | own


def _web(url: str) -> list[str]:
    host, _, port = url.removeprefix("http://").partition(":")
    return [
        "-m",
        "config.web_server",
        "--host",
        host,
        "--port",
        port,
        "--no-respawn-failed-workers",
    ]


def _worker(application: str) -> list[str]:
    threads = ["--pool", "threads", "--concurrency", "4"]
    quiet = ["--without-mingle", "--without-gossip", "--loglevel", "INFO"]
    return ["-m", "celery", "-A", application, "worker", *threads, *quiet]


def _beat(schedule: Path) -> list[str]:
    return ["-m", "celery", "-A", "config", "beat", "--schedule", str(schedule), "--pidfile="]


def drop_connections() -> None:
    """Closes this process's connections: they lead to a dead server or a dropped database."""
    ours = connections["default"]
    assert isinstance(ours, DatabaseWrapper)
    ours.close()
    ours.close_pool()


def expire(rows: models.QuerySet[models.Model], column: str) -> None:
    """Moves a time column of these rows into the past."""
    assert rows.update(**{column: timezone.now() - timedelta(seconds=1)})


def _transfers(sent: models.QuerySet[Message], kind: Transfer.Kind) -> models.QuerySet[Transfer]:
    return Transfer.objects.filter(kind=kind, message_id__in=sent.values("id"))


def _sum(transfers: models.QuerySet[Transfer]) -> int:
    return transfers.aggregate(total=Sum("amount"))["total"] or 0
