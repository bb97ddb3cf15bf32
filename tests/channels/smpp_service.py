"""A message centre and `run_smpp`, both as real processes."""

import os
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.db import connection

from channels.models import Attempt, Message
from config.local.embedded import Servers
from tests.ports import free_port
from tests.stack.carrier import Carrier
from tests.stack.programs import Program, wait_until

OPEN = ("queued", "sent")
WINDOW = 10
RUN = ["manage.py", "run_smpp"]


@dataclass(frozen=True)
class Service:
    carrier: Carrier
    centre: Program
    process: Program

    def start(self) -> None:
        self.centre.start()
        self.process.start()

    def stop(self) -> None:
        for program in (self.process, self.centre):
            program.kill()

    def copies(self) -> Counter[str]:
        """Returns how many messages each phone has got."""
        every = self.carrier.phones()
        return Counter({f"+{row['phone']}": row["messages"] for row in every})


def account(port: int) -> dict[str, Any]:
    """Returns the account as `settings.PROVIDER_ACCOUNTS["smpp"]` names it."""
    return {
        "host": "127.0.0.1",
        "port": port,
        "tls": False,
        "system_id": "kvitok",
        "password": "secret",
        "source": "Kvitok",
        "window": WINDOW,
    }


def service(servers: Servers, logs: Path, port: int, bytecode: Path) -> Service:
    assert servers.postgres is not None, "these tests need servers of their own"
    database = urlsplit(servers.postgres.url)._replace(path=f"/{connection.settings_dict['NAME']}")
    http_port = free_port()
    own = {
        "DATABASE_URL": database.geturl(),
        "SIMULATOR_PORT": str(http_port),
        "SIMULATOR_SMPP_PORT": str(port),
        "SIMULATOR_LOG": str(logs / "simulator.sqlite3"),
        "TWILIO_AUTH_TOKEN": "",  # or its turn would come after a refusal
        "LOG_LEVEL": "INFO",
        "PYTHONUNBUFFERED": "1",
        "SMPP_URL": f"smpp://kvitok:secret@127.0.0.1:{port}?source=Kvitok&window={WINDOW}",
    }
    if sys.dont_write_bytecode:
        own |= {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(bytecode)}
    everything = dict(os.environ) | own
    url = f"http://127.0.0.1:{http_port}"
    simulator = ["-m", "tools.simulator"]
    return Service(
        Carrier(url),
        Program(simulator, log=logs / "centre.log", environ=everything, url=f"{url}/livez"),
        Program(RUN, log=logs / "process.log", environ=everything, words="smpp: started"),
    )


def states() -> Counter[str]:
    return Counter(Message.objects.values_list("state", flat=True))


def attempts(state: str) -> int:
    return Attempt.objects.filter(state=state).count()


def wait_until_settled(seconds: float = 40.0) -> None:
    """Waits until only messages of unknown outcome are open."""
    open_ones = Message.objects.filter(state__in=OPEN)
    waiting = open_ones.exclude(attempts__state="ambiguous")
    wait_until(
        lambda: not waiting.exists(),
        seconds,
        on_timeout=lambda: list(Attempt.objects.filter(message__in=waiting).values()),
    )
