"""Removes guards one at a time, each in a copy of the checkout, and runs the checks that must fail:
`python -m tests.mutants [NAME …]`.

Exit code 1 when a mutant survives; 2 when a patch or a check is broken, so that nothing is known.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

from config.local.embedded import temporary
from tests.migrated_cluster import DATABASE, TEMPLATE_VARIABLE, migrated_cluster
from tests.mutants import outcomes
from tests.mutants.outcomes import Outcome
from tests.mutants.patches import ROOT, Mutant, PatchError, read_all
from tests.servers import environment

NOT_COPIED = shutil.ignore_patterns(
    ".git", ".venv", "var", "staticfiles", "node_modules", "__pycache__", ".hypothesis", ".*_cache"
)
# From the shell's environment: other code, and no bytecode kept from one run to the next.
REMOVED_VARIABLES = ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE", "PYTEST_ADDOPTS")
TIMEOUT = 240.0  # seconds for one run
UNMUTATED = Mutant("(none)", "", (), ())


@dataclass(frozen=True, slots=True)
class Run:
    """The checks' result for one mutant."""

    mutant: Mutant
    outcomes: dict[str, Outcome]
    seconds: float
    output: str  # by pytest, or why it was not even started


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy of the checkout, with stores that serve its runs, one after another."""

    place: Path
    environ: dict[str, str]


class Copies:
    """Copies that runs take turns at."""

    def __init__(self, copies: Sequence[Copy]) -> None:
        self._free: SimpleQueue[Copy] = SimpleQueue()
        for copy in copies:
            self._free.put(copy)

    @contextmanager
    def mutated(self, mutant: Mutant) -> Iterator[Copy]:
        copy = self._free.get()
        texts: dict[Path, str] = {}
        try:
            texts = mutant.applied(copy.place)
            for file, text in texts.items():
                file.write_text(text, encoding="utf-8")
            yield copy
        finally:
            for file in texts:
                shutil.copyfile(ROOT / file.relative_to(copy.place), file)
            self._free.put(copy)


@contextmanager
def prepared(count: int) -> Iterator[Copies]:
    cluster = migrated_cluster(environment() | {"REDIS_URL": "redis://127.0.0.1:1"})
    with ExitStack() as stack:
        directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="kvitok-mutants-"))
        copies = []
        for number in range(count):
            copy = Path(directory) / f"checkout{number}"
            shutil.copytree(ROOT, copy, ignore=NOT_COPIED)
            servers = stack.enter_context(temporary(environ={}, cluster=cluster))
            copies.append(Copy(copy, servers.environ()))
        yield Copies(copies)


def run(copies: Copies, mutant: Mutant, checks: Sequence[str]) -> Run:
    started = time.monotonic()
    try:
        with copies.mutated(mutant) as copy:
            endings, output = _pytest(copy, checks, _template(mutant))
    except PatchError as error:
        endings = []
        output = str(error)
    by_check = {check: outcomes.outcome_of(check, endings) for check in checks}
    return Run(mutant, by_check, time.monotonic() - started, output)


def _template(mutant: Mutant) -> dict[str, str]:
    """Names the migrated database, which has every guard: not for a mutant of a migration, or of a
    file of SQL that one runs.
    """
    paths = [hunk.path for hunk in mutant.hunks]
    is_of_schema = any("migrations/" in path or path.endswith(".sql") for path in paths)
    return {} if is_of_schema else {TEMPLATE_VARIABLE: DATABASE}


def _pytest(
    copy: Copy, checks: Sequence[str], template: dict[str, str]
) -> tuple[list[tuple[str, str]], str]:
    result = copy.place / "endings.json"
    result.unlink(missing_ok=True)
    plugins = ["-p", "no:cacheprovider", "-p", "tests.mutants.outcomes", "--endings", str(result)]
    options = ["--numprocesses", "0", "-o", "timeout=60", "--tb=line", "--quiet"]
    environ = {name: value for name, value in os.environ.items() if name not in REMOVED_VARIABLES}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *plugins, *options, *checks],
        cwd=copy.place,
        env=environ | copy.environ | template,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )
    return outcomes.read(result), done.stdout


def main(names: Sequence[str]) -> int:
    try:
        mutants = _chosen(names)
    except PatchError as error:
        return _fail(str(error))
    checks = sorted({check for mutant in mutants for check in mutant.checks})
    width = max(len(mutant.name) for mutant in mutants)
    jobs = os.cpu_count() or 1
    with prepared(jobs) as copies, ThreadPoolExecutor(jobs) as pool:
        sound = pool.submit(run, copies, UNMUTATED, checks)
        running = [pool.submit(run, copies, mutant, mutant.checks) for mutant in mutants]
        runs = [_report(future.result(), width) for future in as_completed(running)]
    return _sum_up(sound.result(), runs)


def _chosen(names: Sequence[str]) -> list[Mutant]:
    mutants = read_all()
    if unknown := set(names) - {mutant.name for mutant in mutants}:
        raise PatchError(f"no such mutant: {', '.join(sorted(unknown))}")
    return [mutant for mutant in mutants if not names or mutant.name in names]


def _report(done: Run, width: int) -> Run:
    for check, outcome in done.outcomes.items():
        _say(f"{outcome:8} {done.mutant.name:{width}} {done.seconds:5.1f} s  {check}")
    return done


def _sum_up(sound: Run, runs: Sequence[Run]) -> int:
    failing = [check for check, outcome in sound.outcomes.items() if outcome != Outcome.SURVIVED]
    if failing:
        return _fail(f"{sound.output}\nwith every guard in place: {', '.join(failing)}")
    broken = [done for done in runs if Outcome.BROKEN in done.outcomes.values()]
    survivors = [done for done in runs if Outcome.SURVIVED in done.outcomes.values()]
    for done in broken:
        _say(
            f"\n{done.mutant.name}: a check did not fail by an assertion of its own\n{done.output}"
        )
    for survivor in survivors:
        name = survivor.mutant.name
        guard = survivor.mutant.guard
        _say(f"\n{name}: not every check noticed that this is gone: {guard}")
    _say(f"\n{len(runs)} mutants, {len(survivors)} survived, {len(broken)} broken")
    return 2 if broken else bool(survivors)


def _fail(why: str) -> int:
    sys.stderr.write(f"{why}\n")
    return 2


def _say(words: str) -> None:
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
