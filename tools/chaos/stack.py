"""The service as in production, each program a process that can be killed."""

import json
import os
import re
import signal
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from config.environment.variables import ROOT
from config.local.demo_environment import accounts, new_secrets, payment_accounts
from config.local.embedded import Servers
from tests.stack.programs import Program, children
from tools.chaos.faults.proxy import HOST, Fault, Route
from tools.chaos.plan import Options, Speed, speed_of
from tools.stack.programs import beat, free_ports, own_stores, web, worker

MARK = "KVITOK_CHAOS"  # in the environment of every process: marks its owner
_NAMES = re.compile(r"^#?\s?([A-Z][A-Z0-9_]*)=", re.MULTILINE)

# What share of the requests meets which fault, by direction.
_LATENCY, _RESET, _HALF, _STALL = Fault.LATENCY, Fault.RESET, Fault.HALF_OPEN, Fault.STALL
_CUT_IN, _CUT_OUT, _DROP = Fault.CUT_REQUEST, Fault.CUT_ANSWER, Fault.DROP_ANSWER
RATES: dict[str, dict[str, float]] = {
    "to vendors": {
        _LATENCY: 0.03,
        _RESET: 0.005,
        _HALF: 0.004,
        _STALL: 0.006,
        _CUT_IN: 0.005,
        _CUT_OUT: 0.005,
        _DROP: 0.007,
    },
    "from vendors": {
        _LATENCY: 0.03,
        _RESET: 0.01,
        _HALF: 0.004,
        _CUT_IN: 0.005,
        _CUT_OUT: 0.01,
        _DROP: 0.02,
    },
    "from clients": {_LATENCY: 0.01, _RESET: 0.005, _CUT_IN: 0.003, _CUT_OUT: 0.004, _DROP: 0.01},
}


@dataclass(frozen=True)
class Ports:
    web: int
    simulator: int
    to_vendors: int
    from_vendors: int
    from_clients: int

    @classmethod
    def free(cls) -> "Ports":
        return cls(*free_ports(5))


def url(port: int) -> str:
    return f"http://{HOST}:{port}"


class Programs(ABC):
    """What starts and stops together."""

    place: Path
    environ: dict[str, str]

    @abstractmethod
    def __iter__(self) -> Iterator[Program]:
        """In stopping order."""

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

    def _program(self, name: str, command: list[str]) -> Program:
        return Program(command, log=self.place / f"{name}.log", environ=self.environ)


class Stack(Programs):
    """The stores, which the caller started, and every program beside them."""

    def __init__(self, servers: Servers, place: Path, options: Options) -> None:
        self.postgres, self.redis = own_stores(servers)
        self.place = place
        self.ports = Ports.free()
        self.speed = speed_of(options)
        self.simulator_log = place / "simulator.sqlite3"
        self.counts = place / "proxy-counts.json"
        self.environ = environment(
            servers, self.ports, place, self.speed, has_payments=options.payments
        )
        self.proxy = self._program(
            "proxy", ["-m", "tools.chaos.faults.proxy", self._lines(options)]
        )
        self.simulator = self._program("simulator", ["-m", "tools.simulator"])
        self.web = self._program("web", web(self.ports.web))
        self.web.die = signal.SIGTERM  # killed outright, granian would leave its workers behind
        self.worker = self._program("worker", worker("first", level="INFO"))
        self.second_worker = self._program("worker-2", worker("second", level="INFO"))
        self.beat = self._program("beat", beat(place))
        self.proxy.words = self.worker.words = self.second_worker.words = " ready."
        self.simulator.url = f"{url(self.ports.simulator)}/livez"
        self.web.url = f"{url(self.ports.web)}/livez"

    def __iter__(self) -> Iterator[Program]:
        yield from (self.beat, self.worker, self.second_worker, self.web)
        yield from (self.simulator, self.proxy)

    @property
    def carrier(self) -> str:
        return url(self.ports.simulator)

    @property
    def api(self) -> str:
        return url(self.ports.from_clients)

    def web_processes(self) -> list[int]:
        """The pids that serve requests: the master's children without its resource tracker."""
        own = children(self.web.running.pid)
        return [pid for pid in own if b"resource_tracker" not in _command(pid)]

    def _lines(self, options: Options) -> str:
        """The proxy's configuration, in a file."""
        ports, speed = self.ports, self.speed
        ends = {
            "to vendors": (ports.to_vendors, ports.simulator),
            "from vendors": (ports.from_vendors, ports.web),
            "from clients": (ports.from_clients, ports.web),
        }
        lag = {"to vendors": 0.06}  # a far network: some calls have not arrived yet at any moment
        lines = [
            Route(
                name,
                port,
                upstream,
                RATES[name],
                hold=speed.held,
                latency=speed.read / 2,
                lag=lag.get(name, 0.0),
            )
            for name, (port, upstream) in ends.items()
        ]
        config = {
            "seed": str(options.seed),
            "counts": str(self.counts),
            "lines": [asdict(line) for line in lines],
        }
        path = self.place / "proxy.json"
        path.write_text(json.dumps(config), encoding="utf-8")
        return str(path)


def environment(
    servers: Servers, ports: Ports, place: Path, speed: Speed, *, has_payments: bool = False
) -> dict[str, str]:
    """Ignores the shell's settings of the service."""
    example = (ROOT / ".env.example").read_text(encoding="utf-8")
    foreign = set(_NAMES.findall(example)) | {"PYTHONDONTWRITEBYTECODE"}
    inherited = {name: value for name, value in os.environ.items() if name not in foreign}
    made, vendors = new_secrets(), url(ports.to_vendors)
    return (
        inherited
        | servers.environ()
        | _accounts(vendors, made, has_payments=has_payments)
        | _short_intervals(speed)
        | {
            "ENVIRONMENT": "development",
            "DEBUG": "0",
            "SECRET_KEY": made["SECRET_KEY"],
            "OTP_KEYS": made["OTP_KEYS"],
            "VAR_DIR": str(place),
            "PUBLIC_URL": url(ports.from_vendors),
            "SIMULATOR_PORT": str(ports.simulator),
            "SIMULATOR_LOG": str(place / "simulator.sqlite3"),
            "SIMULATOR_URL": url(ports.simulator),
            "API_RATE": "1000000",
            "PYTHONUNBUFFERED": "1",
            **_bytecode(),
            MARK: str(place),
        }
    )


def _accounts(vendors: str, made: dict[str, str], *, has_payments: bool) -> dict[str, str]:
    simulated = accounts(vendors, made, {})
    return simulated | (payment_accounts(vendors, made, simulated) if has_payments else {})


def _bytecode() -> dict[str, str]:
    """Shares a bytecode cache, so dozens of starts do not recompile everything."""
    is_unwanted = sys.dont_write_bytecode  # beside the sources, that is
    return {"PYTHONPYCACHEPREFIX": str(ROOT / "var/chaos/bytecode")} if is_unwanted else {}


def _short_intervals(speed: Speed) -> dict[str, str]:
    return {
        "CODE_LIFETIME": str(speed.code_lifetime),
        "HOLD_DEADLINE_CODE": str(speed.hold_deadline),
        "HOLD_DEADLINE_LINK": str(speed.hold_deadline),
        "LEASE": str(speed.lease),
        "SEND_WAIT": str(speed.send_wait),
        "PROVIDER_TIMEOUT": f"{speed.connect},{speed.read}",
        "MAX_BREAKER_PAUSE": "2",
    }


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b"resource_tracker"  # gone already
