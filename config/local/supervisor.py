"""`make run`: starts, supervises and stops the whole service on one machine."""

import errno
import http.client
import json
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from pathlib import Path

from config.local import preflight
from config.local.checkout import CHECKOUT
from config.local.child_processes import Child, StoppedError, Supervisor
from config.local.demo_environment import environment, publish, reachable
from config.local.embedded import Servers
from config.local.preflight import make_private
from config.local.processes import StartError, die_with_parent, kill_survivors, lock, spawn

_TAG = "KVITOK_SUPERVISED"  # variable of every child, which identifies its supervisor
_MAX_LOG_SIZE = 5 * 2**20  # bytes; a larger one is rotated at the next start
# granian warns about 64 threads; most only wait: see docs/operations/limits.md.
_WEB_WARNINGS = re.compile(
    r'^(?!.*allows spawning up to).*(WARNING|ERROR|"level":"(warning|error|critical)")'
)
_WELCOME = """
Kvitok is running (started in {seconds:.1f} s).

  Cabinet    {cabinet_url}
  Admin      {admin_url}   the operator's pages; the same log-in opens both
  E-mail     {email}
  Password   {password}
  Phones     {simulator_url}   every phone and its messages, no real ones are sent
  API        {base_url}
  Live key   {live_key}
  Test key   {test_key}
  Client key {verify_key}   for Twilio's client and others: /docs/compat

  curl -s {base_url}/otp/send -H 'Authorization: Bearer {live_key}' \\
    -H 'Content-Type: application/json' -d '{{"phone": "+79161234567"}}'

Logs are in {logs}. Ctrl-C stops everything.
"""


@dataclass(frozen=True)
class RunContext:
    """The addresses, directory and environment of one run."""

    var: Path
    host: str
    port: int
    simulator_port: int
    environ: dict[str, str]

    def log(self, name: str) -> Path:
        return self.var / "log" / f"{name}.log"

    def child(self, name: str, *arguments: str, die: signal.Signals = signal.SIGKILL) -> Child:
        """A Python program; the kernel sends it `die` when the supervisor is killed."""
        log = self.log(name)
        launch = partial(
            spawn, [sys.executable, *arguments], log=log, die=die, env=self.environ, cwd=CHECKOUT
        )
        return Child(name, launch, log)


def main() -> int:
    if "MAKELEVEL" in os.environ:  # stop when `make` is killed
        die_with_parent(signal.SIGTERM, os.getppid())
    try:
        _serve(os.environ)
    except (StartError, OSError) as error:
        say(f"kvitok: {_describe(error)}")
        return 1
    except KeyboardInterrupt:
        return 0
    return 0


def say(line: str) -> None:
    with suppress(OSError):  # the terminal may be closed already
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()


def _serve(environ: Mapping[str, str]) -> None:
    preflight.refuse_production(environ)
    var = Path(environ.get("VAR_DIR") or CHECKOUT / "var").resolve()
    preflight.make_writable(var)
    with lock(var / "lock"), suppress(StoppedError), Supervisor(say, stop_timeout=15) as supervisor:
        context = _prepare(var, environ)
        started = time.monotonic()
        _start_stores(supervisor, context)
        _start_programs(supervisor, context)
        say(_welcome(context, time.monotonic() - started))
        supervisor.run()
        say("Stopping …")


def _prepare(var: Path, environ: Mapping[str, str]) -> RunContext:
    kill_survivors(f"{_TAG}={var}")
    host = environ.get("HOST") or "127.0.0.1"
    port = preflight.number(environ, "PORT", 8000)
    simulator_port = preflight.number(environ, "SIMULATOR_PORT", 8001)
    if port == simulator_port:
        raise StartError(f"PORT and SIMULATOR_PORT are both {port}: give them different numbers")
    preflight.check_port("PORT", host, port)
    preflight.check_port("SIMULATOR_PORT", "127.0.0.1", simulator_port)
    for name in ("SIMULATOR_SMPP_PORT", "METRICS_PORT"):
        if environ.get(name):
            preflight.check_port(name, "127.0.0.1", preflight.number(environ, name, 0))
    preflight.check_space(var)
    make_private(var)
    for log in (var / "log").glob("*.log"):
        if log.stat().st_size > _MAX_LOG_SIZE:
            log.replace(log.with_suffix(".log.1"))
    variables = environment(environ, var=var, host=host, port=port, simulator_port=simulator_port)
    return RunContext(var, host, port, simulator_port, variables | {_TAG: str(var)})


def _start_stores(supervisor: Supervisor, context: RunContext) -> None:
    servers = Servers.missing(
        context.var, durable=True, logs=context.var / "log", environ=context.environ
    )
    # A broker set by the user takes precedence over the embedded Redis.
    context.environ.update(servers.environ() | _if_set(context.environ, "CELERY_BROKER_URL"))
    for server in servers:
        preflight.check_space(server.directory)
    for server in servers:
        say(f"Starting {server.name} …")
        server.prepare()
        child = Child(
            server.name, server.launch, server.log, server.stop_signal, warning_pattern=None
        )
        supervisor.add(child)
        supervisor.wait(server.is_ready, child)


def _if_set(environ: Mapping[str, str], name: str) -> dict[str, str]:
    return {name: environ[name]} if environ.get(name) else {}


def _start_programs(supervisor: Supervisor, context: RunContext) -> None:
    publish(context.environ, os.environ, var=context.var)
    say("Running migrate …")
    supervisor.complete(context.child("migrate", "manage.py", "migrate", "--noinput"))
    say("Creating the demo companies …")
    supervisor.complete(context.child("demo", "-m", "tools.demo"))
    say("Starting web, worker, beat and simulator …")
    simulator = context.child("simulator", "-m", "tools.simulator")
    web = _web(context)
    supervisor.add(simulator, web, _worker(context), _beat(context), *_metrics(context))
    supervisor.wait(_answers_on("127.0.0.1", context.simulator_port), simulator)
    supervisor.add(*_smpp(context))  # their message centre may be the simulator
    supervisor.wait(_answers_on(reachable(context.host), context.port), web)


def _web(context: RunContext) -> Child:
    arguments = ["--host", context.host, "--port", str(context.port), "--workers", "2"]
    # SIGKILL would orphan granian's workers.
    child = context.child("web", "-m", "config.web_server", *arguments, die=signal.SIGTERM)
    child.warning_pattern = _WEB_WARNINGS
    return child


def _worker(context: RunContext) -> Child:
    threads = ["--pool", "threads", "--concurrency", "4"]
    quiet = ["--without-mingle", "--without-gossip", "--loglevel", "WARNING"]
    return context.child("worker", "-m", "celery", "-q", "-A", "config", "worker", *threads, *quiet)


def _beat(context: RunContext) -> Child:
    files = ["--schedule", str(context.var / "beat-schedule"), "--pidfile="]
    return context.child(
        "beat", "-m", "celery", "-q", "-A", "config", "beat", *files, "--loglevel", "WARNING"
    )


def _smpp(context: RunContext) -> list[Child]:
    """The processes of configured SMPP accounts, one each."""
    further = [name.strip() for name in context.environ.get("SMPP_ACCOUNTS", "").split(",")]
    accounts = {"smpp": "SMPP_URL"} | {
        f"smpp:{name}": f"SMPP_{name.upper()}_URL" for name in further if name
    }
    return [
        context.child(name.replace(":", "-"), "manage.py", "run_smpp", "--account", name)
        for name, variable in accounts.items()
        if context.environ.get(variable)
    ]


def _metrics(context: RunContext) -> list[Child]:
    """The metrics process, if METRICS_PORT is set."""
    if not context.environ.get("METRICS_PORT"):
        return []
    return [context.child("metrics", "manage.py", "run_metrics")]


def _answers_on(host: str, port: int) -> Callable[[], bool]:
    def ask() -> bool:
        connection = http.client.HTTPConnection(host.strip("[]"), port, timeout=2)
        try:
            connection.request("GET", "/livez")
            return connection.getresponse().status == HTTPStatus.OK
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    return ask


def _welcome(context: RunContext, seconds: float) -> str:
    path = context.var / "demo.json"
    try:
        demo = json.loads(path.read_text(encoding="utf-8"))
        admin_url = demo["cabinet_url"].replace("/cabinet/", "/admin/")
        logs = context.var / "log"
        return _WELCOME.format(**demo, admin_url=admin_url, seconds=seconds, logs=logs)
    except (FileNotFoundError, ValueError, KeyError) as error:
        raise StartError(f"{path} is missing or incomplete ({error}): remove it") from None


def _describe(error: Exception) -> str:
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        return f"no space left on the disk of {error.filename or 'var/'}: free some and start again"
    return " ".join(str(error).split())


if __name__ == "__main__":
    sys.exit(main())
