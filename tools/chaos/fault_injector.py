"""Injects the planned faults on time and restarts exited programs like a supervisor.

Everything runs on the main thread, because the kernel ties a child to the thread that forked it.
"""

import os
import sched
import signal
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import psycopg

from config.local.processes import signal_group
from config.local.store_servers import Server
from tests.stack.programs import Program
from tools.chaos.plan import Disruption, PlannedFault, Target
from tools.chaos.stack import Stack
from tools.queries import queries

TICK = 0.02
RETRY_AFTER = 0.2  # seconds until a fault without a target is retried
AIM_TIMEOUT = 1.5  # seconds that an aimed fault waits for a vendor call
RESTART_AFTER = 0.5  # seconds until a program that has exited is restarted
MAX_STOP = 25.0
SQL = {query.name: query.text for query in queries(__file__, "load.sql").values()}


class DatabaseProbe:
    """A connection to a database that may be killed at any time; reconnects afterwards."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._connection: psycopg.Connection[Any] | None = None

    def number(self, query: str) -> int | None:
        """The result of a query, by name in `load.sql` or text; None while the server is down."""
        try:
            row = self._connected().execute(SQL.get(query, query).encode()).fetchone()
        except psycopg.Error:
            self.close()
            return None
        return int(row[0]) if row else None

    def change(self, name: str) -> None:
        """Uses a new connection: the current one may lead to a killed server."""
        self.close()
        self._connected().execute(SQL[name].encode())

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _connected(self) -> psycopg.Connection[Any]:
        if self._connection is None:
            self._connection = psycopg.connect(
                self._url, autocommit=True, connect_timeout=2, options="-c statement_timeout=2000"
            )
        return self._connection


class FaultInjector:
    def __init__(self, stack: Stack, database: DatabaseProbe) -> None:
        self.stack = stack
        self.kills: Counter[str] = Counter()
        self.disruptions: Counter[str] = Counter()
        self.deaths: Counter[str] = Counter()  # exits of programs that were not killed
        self.stops: list[tuple[str, float]] = []  # program and seconds until it stopped
        self.faults_left = 0
        self.deadlocks = 0
        self._database = database
        self._agenda = sched.scheduler(time.monotonic)
        self._stopping: dict[Program, tuple[float, float]] = {}  # asked at, pause until started
        self._leaving: set[Program] = set()  # asked to stop for good
        self._gone: set[Program] = set()
        self._zombies: set[Program] = set()
        self._down: set[Server] = set()
        self._planned: set[Program] = set()  # dead, with a scheduled restart

    def plan(self, begin: float, planned_faults: Sequence[PlannedFault]) -> None:
        self.faults_left = len(planned_faults)
        for fault in planned_faults:
            self.at(begin + fault.at, partial(self._apply, fault))

    def at(self, moment: float, action: Callable[[], object]) -> None:
        self._agenda.enterabs(moment, 0, action)

    def after(self, seconds: float, action: Callable[[], object]) -> None:
        self.at(time.monotonic() + seconds, action)

    def run(self, until: Callable[[], bool], seconds: float) -> bool:
        """Runs due actions and supervises programs; returns whether `until` became true in time."""
        deadline = time.monotonic() + seconds
        while not until():
            if time.monotonic() > deadline:
                return False
            self._agenda.run(blocking=False)
            self._check_programs()
            time.sleep(TICK)
        return True

    def kill_now(self, program: Program, pause: float) -> bool:
        """Kills a program outside the plan; False if it is not running."""
        if not self._is_up(program):
            return False
        program.kill()
        self._start_later(program, pause)
        return True

    def retire(self, program: Program) -> None:
        """Stops a program for good."""
        if self._is_up(program):
            self._leaving.add(program)
            program.terminate()
        else:
            self.after(RETRY_AFTER, partial(self.retire, program))

    def count_deadlocks(self) -> None:
        """Adds PostgreSQL's count; called at the end, and before kills, which reset the counter."""
        self.deadlocks += self._database.number("deadlocks") or 0

    @property
    def is_quiet(self) -> bool:
        """Whether everything runs and no fault is pending."""
        busy = [self._stopping, self._zombies, self._down, self._planned, self._leaving]
        return not self.faults_left and not any(busy)

    def _apply(self, fault: PlannedFault) -> None:
        if self._do(fault):
            self.faults_left -= 1
        else:
            self.after(RETRY_AFTER, partial(self._apply, fault))

    def _do(self, fault: PlannedFault) -> bool:
        """Returns whether there was a target."""
        stack = self.stack
        match fault.what:
            case Target.POSTGRES:
                self.count_deadlocks()
                return self._kill_server(stack.postgres, fault, stack.postgres.kill)
            case Target.REDIS_KEPT:
                return self._kill_server(stack.redis, fault, stack.redis.kill)
            case Target.REDIS_LOST:
                return self._kill_server(stack.redis, fault, stack.redis.forget)
            case Target.WEB_CHILD:
                return self._kill_web_child(fault)
            case Target.WEB | Disruption.TERM_WEB:
                among = [stack.web]
            case Target.BEAT:
                among = [stack.beat]
            case _:
                among = [stack.worker, stack.second_worker]
        able = [program for program in among if self._is_up(program)]
        if able:
            self._apply_to_program(able[int(fault.share * len(able))], fault)
        return bool(able)

    def _apply_to_program(self, program: Program, fault: PlannedFault) -> None:
        deadline = time.monotonic() + AIM_TIMEOUT
        while fault.aimed and time.monotonic() < deadline:  # a call is the worst moment for a kill
            if self._database.number("calls under way"):
                break
            time.sleep(0.002)
        match fault.what:
            case Disruption.ZOMBIE:
                signal_group(program.running, signal.SIGSTOP)
                self._zombies.add(program)
                self.after(fault.pause, partial(self._wake, program))
                self.disruptions[fault.what] += 1
            case Disruption.TERM_WEB | Disruption.TERM_WORKER:
                program.terminate()
                self._stopping[program] = (time.monotonic(), fault.pause)
                self.disruptions[fault.what] += 1
            case _:
                program.kill()
                self.kills[fault.what] += 1
                self._start_later(program, fault.pause)

    def _is_up(self, program: Program) -> bool:
        busy = self._planned | self._gone | self._zombies | self._leaving | set(self._stopping)
        return program not in busy and program.running.poll() is None and program.is_ready()

    def _wake(self, program: Program) -> None:
        signal_group(program.running, signal.SIGCONT)
        self._zombies.discard(program)

    def _kill_server(self, server: Server, fault: PlannedFault, kill: Callable[[], None]) -> bool:
        if server in self._down:
            return False
        kill()
        self.kills[fault.what] += 1
        self._down.add(server)
        self.after(fault.pause, partial(self._restart_server, server))
        return True

    def _restart_server(self, server: Server) -> None:
        server.start()
        self._down.discard(server)

    def _kill_web_child(self, fault: PlannedFault) -> bool:
        """Kills one web process; the master restarts it."""
        pids = self.stack.web_processes() if self._is_up(self.stack.web) else []
        with suppress(ProcessLookupError, IndexError):
            os.kill(pids[int(fault.share * len(pids))], signal.SIGKILL)
            self.kills[fault.what] += 1
            return True
        return False

    def _start_later(self, program: Program, pause: float) -> None:
        self._planned.add(program)
        self.after(pause, partial(self._start, program))

    def _start(self, program: Program) -> None:
        program.launch()
        self._planned.discard(program)

    def _check_programs(self) -> None:
        for program in self.stack:
            if program in self._planned or program in self._gone:
                continue
            if program.running.poll() is not None:
                self._record_exit(program)
            elif program in self._stopping:
                asked_at, pause = self._stopping[program]
                if time.monotonic() > asked_at + MAX_STOP:
                    self.deaths[f"{program.log.stem}: did not stop when asked"] += 1
                    program.kill()
                    del self._stopping[program]
                    self._start_later(program, pause)

    def _record_exit(self, program: Program) -> None:
        code = program.running.returncode
        is_asked = program in self._leaving or program in self._stopping
        if code != 0 or not is_asked:
            self.deaths[f"{program.log.stem}: exit code {code}"] += 1
        program.kill()  # its children
        if program in self._leaving:
            self._leaving.discard(program)
            self._gone.add(program)
        elif program in self._stopping:
            asked_at, pause = self._stopping.pop(program)
            self.stops.append((program.log.stem, round(time.monotonic() - asked_at, 1)))
            self._start_later(program, pause)
        else:
            self._start_later(program, RESTART_AFTER)
