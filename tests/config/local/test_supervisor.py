"""The supervisor restarts its children and leaves none of them behind."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from config.local.checkout import CHECKOUT
from config.local.child_processes import Child, Supervisor
from config.local.processes import command_line, kill_survivors, lock, spawn, survivors


@pytest.fixture
def printed() -> list[str]:
    return []


@pytest.fixture
def supervisor(printed: list[str]) -> Iterator[Supervisor]:
    with Supervisor(printed.append, stop_timeout=5) as made:
        yield made


@pytest.fixture
def program(tmp_path: Path) -> Callable[..., Child]:
    def make(name: str, code: str) -> Child:
        log = tmp_path / f"{name}.log"
        command = [sys.executable, "-c", textwrap.dedent(code)]
        return Child(name, partial(spawn, command, log=log, cwd=tmp_path), log)

    return make


def has_exited(pid: int) -> bool:
    return not command_line(pid)


def wait_for(condition: Callable[[], bool], seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def script(
    code: str, *arguments: object, stdin: int = subprocess.DEVNULL
) -> "subprocess.Popen[str]":
    environ = os.environ | {"PYTHONPATH": str(CHECKOUT)}
    command = [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)]
    return subprocess.Popen(command, env=environ, stdin=stdin, stdout=subprocess.PIPE, text=True)


def command(**environ: str) -> "subprocess.CompletedProcess[str]":
    inherited = {"PATH": os.environ["PATH"]}
    return subprocess.run(
        [sys.executable, "-m", "config.local.supervisor"],
        env=inherited | environ,
        cwd=CHECKOUT,
        check=False,
        capture_output=True,
        text=True,
        timeout=30,
    )


def test_exited_child_restarts_with_backoff(
    supervisor: Supervisor, program: Callable[..., Child], printed: list[str], tmp_path: Path
) -> None:
    lives = tmp_path / "lives"
    code = "open('lives', 'a').write('x'); print('out of luck'); raise SystemExit(3)"

    supervisor.add(program("web", code))
    supervisor.wait(lambda: lives.exists() and len(lives.read_text()) == 3)

    assert printed[:4] == [
        "web ended (exit 3); starting it again in 0.2 s",
        "  out of luck",
        "web ended (exit 3); starting it again in 0.4 s",
        "  out of luck",
    ]


def test_orphans_of_a_child_are_killed_before_its_restart(
    supervisor: Supervisor, program: Callable[..., Child], tmp_path: Path
) -> None:
    code = """
        import os, subprocess, sys
        if os.path.exists("orphan"):
            open("second", "w")
            import time; time.sleep(60)
        orphan = subprocess.Popen(["sleep", "60"])
        open("new", "w").write(str(orphan.pid))
        os.rename("new", "orphan")
        os.kill(os.getpid(), 9)
    """

    supervisor.add(program("web", code))
    supervisor.wait((tmp_path / "second").exists)

    wait_for(lambda: has_exited(int((tmp_path / "orphan").read_text())))


def test_child_that_ignores_sigterm_is_killed(
    supervisor: Supervisor, program: Callable[..., Child], tmp_path: Path
) -> None:
    deaf = "import signal, time; signal.signal(15, signal.SIG_IGN); open('up', 'w'); time.sleep(60)"
    supervisor.stop_timeout = 0.3
    child = program("web", deaf)
    supervisor.add(child)
    supervisor.wait((tmp_path / "up").exists)

    supervisor.stop()

    assert child.process is not None
    assert child.process.returncode == -signal.SIGKILL


def test_orphans_of_killed_supervisor_end_at_next_start(
    tmp_path: Path,
) -> None:
    code = """
        import os, sys
        from pathlib import Path
        from config.local.child_processes import Child, Supervisor
        from config.local.processes import spawn
        child = (
            "import os, subprocess, time; p = subprocess.Popen(['sleep', '60']);"
            "print(os.getpid(), p.pid, flush=True); time.sleep(60)"
        )
        log = Path(sys.argv[1])
        environ = os.environ | {"MARK": sys.argv[1]}
        with Supervisor(print) as supervisor:
            launch = lambda: spawn([sys.executable, "-c", child], log=log, env=environ)
            supervisor.add(Child("web", launch, log))
            supervisor.wait(lambda: log.read_text().endswith("\\n"))
            print(log.read_text(), flush=True)
            supervisor.run()
    """
    log = tmp_path / "web.log"
    with script(code, log) as process:
        assert process.stdout is not None
        child, orphan = map(int, process.stdout.readline().split())
        process.kill()

    wait_for(lambda: has_exited(child))
    assert survivors(f"MARK={log}") == [orphan]
    kill_survivors(f"MARK={log}")
    assert has_exited(orphan)


def test_command_refuses_production() -> None:
    done = command(ENVIRONMENT="production")

    assert done.returncode == 1
    assert done.stdout.startswith("kvitok: ENVIRONMENT=production: this command is for development")
    assert (done.stdout.count("\n"), done.stderr) == (1, "")


def test_command_refuses_to_run_twice(tmp_path: Path) -> None:
    with lock(tmp_path / "lock"):
        done = command(VAR_DIR=str(tmp_path))

    assert done.returncode == 1
    assert done.stdout == f"kvitok: already running (pid {os.getpid()})\n"
