"""The service as in production, each program a process that can be killed."""

import json
import os
import re
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from config.environment.variables import ROOT
from config.local.demo_environment import accounts, new_secrets, payment_accounts, simulated_smpp
from config.local.embedded import Servers, temporary
from config.local.processes import kill_survivors
from tests.redis_servers import SentinelGroup
from tests.stack.programs import Program, children
from tools.chaos.plan import Speed
from tools.chaos.proxy import HOST, Route
from tools.stack import stack

MARK = "KVITOK_CHAOS"  # in the environment of every process: marks its owner
_NAMES = re.compile(r"^#?\s?([A-Z][A-Z0-9_]*)=", re.MULTILINE)

# What share of the requests meets which fault, by direction.
RATES: dict[str, dict[str, float]] = {
    "to vendors": {"latency": 0.03, "reset": 0.005, "half_open": 0.004, "stall": 0.006}
    | {"cut_request": 0.005, "cut_answer": 0.005, "drop_answer": 0.007},
    "from vendors": {"latency": 0.03, "reset": 0.01, "half_open": 0.004}
    | {"cut_request": 0.005, "cut_answer": 0.01, "drop_answer": 0.02},
    "from clients": {"latency": 0.01, "reset": 0.005}
    | {"cut_request": 0.003, "cut_answer": 0.004, "drop_answer": 0.01},
}
LAG = {"to vendors": 0.06}  # a far network: some calls have not arrived yet at any moment


class Stack:
    """The stores, which the caller started, and every program beside them.

    With a seed a proxy breaks connections, and a second worker runs; without, nothing stands in
    between, and there is one process of each kind.
    """

    def __init__(
        self,
        servers: Servers,
        place: Path,
        speed: Speed,
        *,
        seed: int | None = None,
        has_payments: bool = False,
        has_smpp: bool = False,
        sentinels: SentinelGroup | None = None,
    ) -> None:
        self.postgres, self.redis = stack.own_stores(servers)
        self.place, self.speed, self.sentinels = place, speed, sentinels
        web, simulator, message_centre, *proxied = stack.free_ports(6)
        to_vendors, from_vendors, from_clients = (
            proxied if seed is not None else (simulator, web, web)
        )
        self.api, self.carrier = _url(from_clients), _url(simulator)
        self.journal, self.counts = place / "journal.sqlite3", place / "proxy-counts.json"
        self.environ = _environment(servers, place, speed, _url(to_vendors), payments=has_payments)
        self.environ |= {"PUBLIC_URL": _url(from_vendors), "SIMULATOR_PORT": str(simulator)}
        self.environ["SIMULATOR_URL"] = self.carrier
        if has_smpp:  # SMS by a message centre alone: Twilio would be chosen, too
            port = {"SIMULATOR_SMPP_PORT": str(message_centre)}
            self.environ |= port | simulated_smpp(port, new_secrets()) | {"TWILIO_AUTH_TOKEN": ""}
        if sentinels:
            self.environ |= {"REDIS_URL": sentinels.url, "CELERY_BROKER_URL": ""}
        self.simulator_log = Path(self.environ["SIMULATOR_LOG"])
        self.beat = self._program("beat", stack.beat(place))
        self.worker = self._program("worker", _worker("first"), ready=" ready.")
        self.second_worker = self._program("worker-2", _worker("second"), ready=" ready.")
        self.web = self._program("web", stack.web(web), url=f"{_url(web)}/livez")
        self.web.die = signal.SIGTERM  # killed outright, granian would leave its workers behind
        self.simulator = self._program(
            "simulator", ["-m", "tools.simulator"], url=f"{_url(simulator)}/livez"
        )
        self.smpp = self._program("smpp", ["manage.py", "run_smpp"], ready="smpp: started")
        self.programs = [self.beat, self.worker, self.web, self.simulator]
        if has_smpp:
            self.programs.insert(0, self.smpp)
        if seed is not None:
            ends = zip(RATES, proxied, (simulator, web, web), strict=True)
            command = ["-m", "tools.chaos.proxy", self._routes(seed, ends)]
            self.programs.insert(2, self.second_worker)
            self.programs.append(self._program("proxy", command, ready=" ready."))

    def __iter__(self) -> Iterator[Program]:
        """In stopping order."""
        return iter(self.programs)

    def start(self) -> None:
        for program in self:
            program.launch()
        for program in self:
            program.wait_ready()

    def stop(self) -> dict[str, int]:
        """Stop every program; returns exit codes."""
        alive = [program for program in self if program.process is not None]
        for program in alive:
            program.terminate()
        return {program.log.stem: program.wait_stopped(25) for program in alive}

    def kill(self) -> None:
        for program in self:
            program.kill()

    def web_processes(self) -> list[int]:
        """The pids that serve requests: the master's children without its resource tracker."""
        pids = children(self.web.running.pid)
        return [pid for pid in pids if b"resource_tracker" not in _command(pid)]

    def _program(self, name: str, command: list[str], *, url: str = "", ready: str = "") -> Program:
        log = self.place / f"{name}.log"
        return Program(command, log=log, environ=self.environ, url=url, words=ready)

    def _routes(self, seed: int, ends: "zip[tuple[str, int, int]]") -> str:
        """The proxy's configuration, in a file."""
        times = {"hold": self.speed.held, "latency": self.speed.read / 2}
        lines = [
            asdict(Route(name, port, upstream, RATES[name], lag=LAG.get(name, 0.0), **times))
            for name, port, upstream in ends
        ]
        path = self.place / "proxy.json"
        config = {"seed": str(seed), "counts": str(self.counts), "lines": lines}
        path.write_text(json.dumps(config), encoding="utf-8")
        return str(path)


@contextmanager
def kept(place: Path, say: Callable[[str], None]) -> Iterator[tuple[Servers, threading.Event]]:
    """Stores of our own; leaves no process behind, and the data unless the event is cleared."""
    with temporary(durable=True, environ={}) as servers:
        place.mkdir(parents=True)
        keep = threading.Event()
        keep.set()
        try:
            yield servers, keep
        except KeyboardInterrupt:
            keep.clear()
            raise
        finally:
            kill_survivors(f"{MARK}={place}")
            for server in servers:
                server.stop()
            if keep.is_set():
                shutil.copytree(servers.directory, place / "stores", dirs_exist_ok=True)
                say(f"Data and logs are kept in {place}")
            else:
                shutil.rmtree(place)


def _environment(
    servers: Servers, place: Path, speed: Speed, vendors: str, *, payments: bool
) -> dict[str, str]:
    """Ignores the shell's settings of the service."""
    example = (ROOT / ".env.example").read_text(encoding="utf-8")
    foreign = set(_NAMES.findall(example)) | {"PYTHONDONTWRITEBYTECODE"}
    inherited = {name: value for name, value in os.environ.items() if name not in foreign}
    made = new_secrets()
    facts: Mapping[str, object] = {
        "ENVIRONMENT": "development",
        "DEBUG": 0,
        "SECRET_KEY": made["SECRET_KEY"],
        "OTP_KEYS": made["OTP_KEYS"],
        "VAR_DIR": place,
        "SIMULATOR_LOG": place / "simulator.sqlite3",
        "API_RATE": 1_000_000,
        "PYTHONUNBUFFERED": 1,
        MARK: place,
        "CODE_LIFETIME": speed.code_lifetime,
        "HOLD_DEADLINE_CODE": speed.hold_deadline,
        "HOLD_DEADLINE_LINK": speed.hold_deadline,
        "LEASE": speed.lease,
        "SEND_WAIT": speed.send_wait,
        "PROVIDER_TIMEOUT": f"{speed.connect},{speed.read}",
        "MAX_BREAKER_PAUSE": 2,
    }
    simulated = accounts(vendors, made, {})
    environ = inherited | servers.environ() | simulated
    if payments:
        environ |= payment_accounts(vendors, made, simulated)
    if sys.dont_write_bytecode:  # dozens of starts need not compile everything again
        environ["PYTHONPYCACHEPREFIX"] = str(ROOT / "var/chaos/bytecode")
    return environ | {name: str(value) for name, value in facts.items()}


def _url(port: int) -> str:
    return f"http://{HOST}:{port}"


def _worker(name: str) -> list[str]:
    return stack.worker(name, level="INFO")


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b"resource_tracker"  # gone already
