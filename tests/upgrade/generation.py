"""The processes of one release: the last one, from git, or this tree."""

import signal
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path

from config.environment.variables import ROOT
from tests.ports import free_port
from tests.stack.programs import Program
from tools.last_release import Release

_WORKER = ["--pool", "threads", "--concurrency", "4", "--without-mingle", "--without-gossip"]

_PRINT_TASKS = (
    "from config.celery import app; app.loader.import_default_modules(); print(*app.tasks)"
)


def check_out(release: Release, folder: Path) -> Path:
    """The files of a release, outside of this checkout."""
    archive = ["git", "-C", str(ROOT), "archive", "--format=tar", release.commit]
    files = subprocess.run(archive, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=BytesIO(files)) as tar:
        tar.extractall(folder, filter="data")
    return folder


class Generation:
    """Web, worker and beat of one tree. The packages are those of this tree's lock."""

    def __init__(self, name: str, root: Path, environ: Mapping[str, str], logs: Path) -> None:
        self.name = name
        self._root = root
        self._environ = dict(environ)
        self._logs = logs
        self.url = f"http://127.0.0.1:{free_port()}"
        host, _, port = self.url.removeprefix("http://").partition(":")
        schedule = str(logs / f"{name}-schedule")
        self.web = self._program("web", "config.web_server", "--host", host, "--port", port)
        self.web.url = f"{self.url}/readyz"
        self.web.die = signal.SIGTERM  # killed outright, granian would leave its workers behind
        self.worker = self._program("worker", *self._celery("worker", *_WORKER))
        self.worker.words = " ready."
        self.beat = self._program("beat", *self._celery("beat", "--schedule", schedule))
        self.programs = (self.beat, self.worker, self.web)

    def manage(self, *words: str, **environ: str) -> str:
        """Runs `manage.py` to its end; an AssertionError has what it printed."""
        return self._python("manage.py", *words, **environ)

    def make_demo(self) -> None:
        self._python("-m", "tools.demo")

    def tasks(self) -> set[str]:
        """The Celery tasks that its workers know."""
        return set(self._python("-c", _PRINT_TASKS).split())

    def _python(self, *words: str, **environ: str) -> str:
        done = subprocess.run(
            [sys.executable, *words],
            cwd=self._root,
            env=self._environ | environ,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{self.name}: {words}: {done.stdout}{done.stderr}"
        return done.stdout

    def start(self) -> None:
        for program in self.programs:
            program.launch()
        for program in self.programs:
            program.wait_ready()

    def stop(self) -> None:
        alive = [program for program in self.programs if program.process is not None]
        for program in alive:
            program.terminate()
        for program in alive:
            program.wait_stopped()

    def errors(self) -> list[str]:
        return [
            f"{self.name}: {line}" for program in self.programs for line in program.new_errors()
        ]

    def _celery(self, *words: str) -> list[str]:
        pidfile = ["--pidfile="] if words[0] == "beat" else []
        return ["celery", "-A", "config", *words, *pidfile, "--loglevel", "INFO"]

    def _program(self, name: str, *words: str) -> Program:
        log = self._logs / f"{self.name}-{name}.log"
        return Program(["-m", *words], log=log, environ=self._environ, cwd=self._root)
