import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from config.local.checkout import CHECKOUT
from config.local.child_processes import Child, Supervisor
from config.local.processes import StartError, command_line, kill_survivors, lock, spawn, survivors
from config.local.supervisor import RunContext, _welcome

SLEEP = "import time; time.sleep(60)"


@pytest.fixture
def printed() -> list[str]:
    return []


@pytest.fixture
def supervisor(printed: list[str]) -> Iterator[Supervisor]:
    with Supervisor(printed.append, patience=5) as made:
        yield made


@pytest.fixture
def program(tmp_path: Path) -> Callable[..., Child]:
    def make(name: str, code: str) -> Child:
        log = tmp_path / f"{name}.log"
        command = [sys.executable, "-c", textwrap.dedent(code)]
        return Child(name, partial(spawn, command, log=log, cwd=tmp_path), log)

    return make


def gone(pid: int) -> bool:
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


def test_welcome_says_that_the_login_is_an_operators_too(tmp_path: Path) -> None:
    names = ("base_url", "simulator_url", "email", "password", "live_key", "test_key")
    demo = {name: name for name in names} | {"cabinet_url": "http://127.0.0.1:8000/cabinet/"}
    (tmp_path / "demo.json").write_text(json.dumps(demo))

    shown = _welcome(RunContext(tmp_path, "127.0.0.1", 8000, 8001, {}), 1.0)

    assert re.search(r"http://127.0.0.1:8000/admin/ .*operator.*same log-in", shown)


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

    wait_for(lambda: gone(int((tmp_path / "orphan").read_text())))


def test_groups_stop_in_the_reverse_order(
    supervisor: Supervisor, program: Callable[..., Child], tmp_path: Path
) -> None:
    code = """
        import signal, sys, time
        def leave(*_):
            time.sleep({delay})
            open("order", "a").write("{name} ")
            sys.exit()
        signal.signal(signal.SIGTERM, leave)
        open("{name}.up", "w")
        time.sleep(60)
    """
    for name, delay in (("store", 0), ("web", 0.3)):
        supervisor.add(program(name, code.format(name=name, delay=delay)))
        supervisor.wait((tmp_path / f"{name}.up").exists)

    supervisor.stop()

    assert (tmp_path / "order").read_text() == "web store "


def test_child_that_ignores_sigterm_is_killed(
    supervisor: Supervisor, program: Callable[..., Child], tmp_path: Path
) -> None:
    deaf = "import signal, time; signal.signal(15, signal.SIG_IGN); open('up', 'w'); time.sleep(60)"
    supervisor.patience = 0.3
    child = program("web", deaf)
    supervisor.add(child)
    supervisor.wait((tmp_path / "up").exists)

    supervisor.stop()

    assert child.process is not None
    assert child.process.returncode == -signal.SIGKILL


def test_warnings_are_shown_as_they_come_and_once(
    supervisor: Supervisor, program: Callable[..., Child], printed: list[str]
) -> None:
    code = """
        import time
        print("INFO all is well", "WARNING low on luck", sep="\\n", flush=True)
        time.sleep(0.3)
        print('{"level":"error","event":"no luck"}', "WARN", sep="\\n", end="", flush=True)
        time.sleep(60)
    """

    supervisor.add(program("web", code))
    supervisor.wait(lambda: len(printed) == 2)
    supervisor.supervise(0.1)

    assert printed == ["web: WARNING low on luck", 'web: {"level":"error","event":"no luck"}']


def test_a_flood_of_warnings_is_cut(
    supervisor: Supervisor, program: Callable[..., Child], printed: list[str]
) -> None:
    child = program("web", f"print('WARNING\\n' * 100, flush=True); {SLEEP}")

    supervisor.add(child)
    supervisor.wait(lambda: bool(printed))

    assert printed[-1] == f"web: … and 92 more in {child.log}"


def test_waiting_for_a_child_that_keeps_dying_ends_with_its_last_words(
    supervisor: Supervisor, program: Callable[..., Child]
) -> None:
    child = program("web", "raise SystemExit('no such table')")
    supervisor.add(child)

    with pytest.raises(StartError, match=r"^web does not start: no such table \(.*/web.log\)$"):
        supervisor.wait(lambda: False, child)


def test_a_step_that_fails_is_reported_with_its_last_words(
    supervisor: Supervisor, program: Callable[..., Child], tmp_path: Path
) -> None:
    supervisor.complete(program("seed", "open('seeded', 'w')"))
    assert (tmp_path / "seeded").exists()

    with pytest.raises(StartError, match=r"^migrate failed: no such table"):
        supervisor.complete(program("migrate", "raise SystemExit('no such table')"))


@pytest.mark.parametrize(("requests", "patience", "least"), [(1, 1.5, 1.5), (2, 50, 0.6)])
def test_second_stop_request_kills_children(
    tmp_path: Path, requests: int, patience: float, least: float
) -> None:
    code = """
        import sys
        from pathlib import Path
        from config.local.child_processes import Child, Supervisor
        from config.local.processes import spawn
        log = Path(sys.argv[1])
        deaf = "import signal, time; signal.signal(15, signal.SIG_IGN); print('up'); time.sleep(60)"
        with Supervisor(print, patience=float(sys.argv[2])) as supervisor:
            launch = lambda: spawn([sys.executable, "-uc", deaf], log=log)
            supervisor.add(Child("web", launch, log))
            supervisor.wait(lambda: log.read_text() == "up\\n")
            print("ready", flush=True)
            supervisor.run()
    """
    with script(code, tmp_path / "web.log", patience) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        started = time.monotonic()

        for _ in range(requests):
            process.send_signal(signal.SIGINT)
            time.sleep(0.6)

        assert process.wait(30) == 0
        assert time.monotonic() - started >= least


def test_closed_terminal_stops_the_service() -> None:
    code = """
        import signal
        from config.local.child_processes import Supervisor
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the tests may run under nohup
        with Supervisor(print) as supervisor:
            print("ready", flush=True)
            supervisor.run()
    """
    terminal, its_end = os.openpty()
    with script(code, stdin=its_end) as process:
        os.close(its_end)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"

        os.close(terminal)

        assert process.wait(10) == 0


def test_children_die_with_a_killed_supervisor_and_their_own_at_the_next_start(
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

    wait_for(lambda: gone(child))
    assert survivors(f"MARK={log}") == [orphan]
    kill_survivors(f"MARK={log}")
    assert gone(orphan)


def test_children_are_not_started_from_threads_that_may_end(tmp_path: Path) -> None:
    caught: list[BaseException] = []

    def start() -> None:
        try:
            spawn(["true"], log=tmp_path / "log")
        except RuntimeError as error:
            caught.append(error)

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()

    assert str(caught[0]) == "start child processes from the main thread"


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


def test_command_prints_obstacle_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    done = command(VAR_DIR=str(tmp_path / "file" / "var"))

    assert done.returncode == 1
    assert "cannot be written to (Not a directory): make it yours, or set VAR_DIR" in done.stdout
    assert (done.stdout.count("\n"), done.stderr) == (1, "")
