"""The service of a drill: one process of each kind, and what restarts those that exit."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from config.local.demo_environment import new_secrets, simulated_smpp
from config.local.embedded import Servers
from tests.redis_servers import SentinelGroup
from tests.stack.programs import Program
from tools.chaos.plan import SHORT
from tools.chaos.stack import Ports, Programs, environment, url
from tools.stack import programs

TICK = 0.02
RESTART_AFTER = 1.0  # seconds, as RestartSec= of our units


class Stack(Programs):
    def __init__(
        self, servers: Servers, place: Path, *, sentinels: SentinelGroup | None, has_smpp: bool
    ) -> None:
        self.postgres, self.redis = programs.own_stores(servers)
        self.sentinels, self.place = sentinels, place
        web, simulator, message_centre = programs.free_ports(3)
        # Nothing stands in between: the fault of a drill is its only one.
        both_ways = Ports(web, simulator, to_vendors=simulator, from_vendors=web, from_clients=web)
        self.api, self.carrier = url(web), url(simulator)
        self.environ = environment(servers, both_ways, place, SHORT)
        if has_smpp:
            self.environ |= _smpp(message_centre)
        if sentinels:
            self.environ |= {"REDIS_URL": sentinels.url, "CELERY_BROKER_URL": ""}
        self.simulator_log = Path(self.environ["SIMULATOR_LOG"])
        self.simulator = self._program("simulator", ["-m", "tools.simulator"])
        self.web = self._program("web", programs.web(web))
        self.worker = self._program("worker", programs.worker("only", level="INFO"))
        self.beat = self._program("beat", programs.beat(place))
        self.smpp = self._program("smpp", ["manage.py", "run_smpp"])
        self.simulator.url, self.web.url = f"{self.carrier}/livez", f"{self.api}/livez"
        self.worker.words, self.smpp.words = " ready.", "smpp: started"
        self._programs = [self.beat, self.worker, self.web, self.simulator]
        if has_smpp:
            self._programs.insert(0, self.smpp)
        self.deaths: Counter[str] = Counter()  # of programs that nobody killed
        self._due: list[tuple[float, Callable[[], object]]] = []
        self._stopped: set[Program] = set()

    def __iter__(self) -> Iterator[Program]:
        return iter(self._programs)

    def lose(self, program: Program) -> None:
        """Kill it; it is started again by whoever lost it."""
        self._stopped.add(program)
        program.kill()

    def regain(self, program: Program) -> None:
        program.launch()
        self._stopped.discard(program)

    def at(self, moment: float, action: Callable[[], object]) -> None:
        self._due.append((moment, action))

    def run(self, until: Callable[[], bool], seconds: float) -> bool:
        """Runs what is due and restarts what exits, on the main thread: the kernel ties a child to
        the thread that forked it. Returns whether `until` came true in time.
        """
        deadline = time.monotonic() + seconds
        while not until():
            now = time.monotonic()
            if now > deadline:
                return False
            for one in [one for one in self._due if one[0] <= now]:
                self._due.remove(one)
                one[1]()
            self._restart_exited()
            time.sleep(TICK)
        return True

    def _restart_exited(self) -> None:
        for program in self:
            if program not in self._stopped and program.running.poll() is not None:
                self.deaths[f"{program.log.stem}: exit code {program.running.returncode}"] += 1
                self.lose(program)
                restart_at = time.monotonic() + RESTART_AFTER
                self.at(restart_at, lambda lost=program: self.regain(lost))  # type: ignore[misc]


def _smpp(port: int) -> dict[str, str]:
    """SMS by a message centre alone: Twilio would be chosen, too."""
    own = {"SIMULATOR_SMPP_PORT": str(port)}
    return own | simulated_smpp(own, new_secrets()) | {"TWILIO_AUTH_TOKEN": ""}
