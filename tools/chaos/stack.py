"""The service like in production, each program a process that can be killed."""

import json
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from config.local.embedded import Servers, temporary
from config.local.processes import kill_survivors
from tests.redis_servers import SentinelGroup
from tests.stack.programs import Program, children
from tools.chaos.plan import Speed
from tools.chaos.proxy import Route
from tools.stack import stack
from tools.stack.stack import Plan, url_of

MARK = "KVITOK_CHAOS"  # variable of every process, which identifies its run
# Shares of requests by fault and direction.
RATES: dict[str, dict[str, float]] = {
    "to vendors": {"latency": 0.03, "reset": 0.005, "half_open": 0.004, "stall": 0.006}
    | {"cut_request": 0.005, "cut_answer": 0.005, "drop_answer": 0.007},
    "from vendors": {"latency": 0.03, "reset": 0.01, "half_open": 0.004}
    | {"cut_request": 0.005, "cut_answer": 0.01, "drop_answer": 0.02},
    "from clients": {"latency": 0.01, "reset": 0.005}
    | {"cut_request": 0.003, "cut_answer": 0.004, "drop_answer": 0.01},
}
LAG = {"to vendors": 0.06}  # a slow network, so that some calls are always in transit


class Stack:
    """The stores, which the caller started, and every program next to them.

    With a seed, a proxy breaks connections and a second worker runs. Without one there is no proxy,
    and one process of each kind.
    """

    def __init__(
        self,
        servers: Servers,
        directory: Path,
        speed: Speed,
        *,
        seed: int | None = None,
        has_payments: bool = False,
        has_smpp: bool = False,
        sentinels: SentinelGroup | None = None,
    ) -> None:
        self.postgres, self.redis = stack.own_stores(servers)
        self.place, self.speed, self.sentinels = directory, speed, sentinels
        web, simulator, message_centre, *proxied = stack.free_ports(6)
        to_vendors, from_vendors, from_clients = (
            proxied if seed is not None else (simulator, web, web)
        )
        self.api, self.carrier = url_of(from_clients), url_of(simulator)
        self.journal, self.counts = directory / "journal.sqlite3", directory / "proxy-counts.json"
        self.simulator_log = directory / "simulator.sqlite3"
        options = {"PUBLIC_URL": url_of(from_vendors), "SIMULATOR_URL": url_of(to_vendors)}
        if has_smpp:
            options["SIMULATOR_SMPP_PORT"] = str(message_centre)
        self.environ = stack.environment_of(servers, directory, web, simulator, options)
        self.environ |= _durations(speed) | {"SIMULATOR_URL": self.carrier, MARK: str(directory)}
        if not has_payments:
            self.environ["PAYMENT_GATEWAYS"] = ""
        if has_smpp:  # SMS only by the message centre: Twilio would also be chosen
            self.environ["TWILIO_AUTH_TOKEN"] = ""
        if sentinels:
            self.environ |= {"REDIS_URL": sentinels.url, "CELERY_BROKER_URL": ""}
        self.beat = self._program("beat", Plan(stack.beat(directory)))
        self.worker = self._program("worker", _worker("first"), ready=" ready.")
        self.second_worker = self._program("worker-2", _worker("second"), ready=" ready.")
        self.web = self._program("web", Plan(stack.web(web), port=web))
        self.simulator = self._program("simulator", Plan(stack.SIMULATOR, port=simulator))
        self.smpp = self._program("smpp", Plan(["manage.py", "run_smpp"]), ready="smpp: started")
        self.programs = [self.beat, self.worker, self.web, self.simulator]
        if has_smpp:
            self.programs.insert(0, self.smpp)
        if seed is not None:
            ends = zip(RATES, proxied, (simulator, web, web), strict=True)
            proxy = Plan(["-m", "tools.chaos.proxy", self._routes(seed, ends)])
            self.programs.insert(2, self.second_worker)
            self.programs.append(self._program("proxy", proxy, ready=" ready."))

    def __iter__(self) -> Iterator[Program]:
        """The processes in stopping order."""
        return iter(self.programs)

    def start(self) -> None:
        for program in self:
            program.launch()
        for program in self:
            program.wait_ready()

    def stop(self) -> dict[str, int]:
        """Stops every program; returns exit codes."""
        alive = [program for program in self if program.process is not None]
        for program in alive:
            program.terminate()
        return {program.log.stem: program.wait_stopped(25) for program in alive}

    def kill(self) -> None:
        for program in self:
            program.kill()

    def web_processes(self) -> list[int]:
        """The pids of web processes: the master's children except its resource tracker."""
        pids = children(self.web.running.pid)
        return [pid for pid in pids if b"resource_tracker" not in _command(pid)]

    def _program(self, name: str, plan: Plan, *, ready: str = "") -> Program:
        return stack.program(self.place / f"{name}.log", plan, self.environ, ready=ready)

    def _routes(self, seed: int, ends: "zip[tuple[str, int, int]]") -> str:
        """Writes the proxy's configuration; returns the path."""
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
def kept(directory: Path, say: Callable[[str], None]) -> Iterator[tuple[Servers, threading.Event]]:
    """New stores. Ends all processes; keeps the data unless the event is cleared."""
    with temporary(durable=True, environ={}) as servers:
        directory.mkdir(parents=True)
        keep = threading.Event()
        keep.set()
        try:
            yield servers, keep
        except KeyboardInterrupt:
            keep.clear()
            raise
        finally:
            kill_survivors(f"{MARK}={directory}")
            for server in servers:
                server.stop()
            if keep.is_set():
                shutil.copytree(servers.directory, directory / "stores", dirs_exist_ok=True)
                say(f"Data and logs are kept in {directory}")
            else:
                shutil.rmtree(directory)


def _durations(speed: Speed) -> dict[str, str]:
    return {
        "SIMULATOR_RECEIPT_DELAY_MS": "20",
        "CODE_LIFETIME": str(speed.code_lifetime),
        "HOLD_DEADLINE_CODE": str(speed.hold_deadline),
        "HOLD_DEADLINE_LINK": str(speed.hold_deadline),
        "LEASE": str(speed.lease),
        "SEND_WAIT": str(speed.send_wait),
        "PROVIDER_TIMEOUT": f"{speed.connect},{speed.read}",
        "MAX_BREAKER_PAUSE": "2",
    }


def _worker(name: str) -> Plan:
    return Plan(stack.worker(name, level="INFO"))


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b"resource_tracker"  # it has ended
