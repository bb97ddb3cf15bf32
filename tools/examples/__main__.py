"""`python -m tools.examples`: runs every example with every installed toolchain."""

import argparse
import subprocess
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

from tools.command_line import ExitCode, names_of, parser, run_command, say, write_json
from tools.examples.checks import CHECKS, ExampleRun, FailedError
from tools.examples.languages import LANGUAGES, STEMS, BuildError, Language, MissingError, Toolchain
from tools.examples.service import Service, running


@dataclass
class LanguageResult:
    """The result of the examples of a language."""

    language: str
    toolchain: str = ""
    missing: str = ""  # the reason why none could run
    broken: str = ""  # the compiler's output
    failures: dict[str, str] = field(default_factory=dict)
    passed: list[str] = field(default_factory=list)

    @property
    def is_good(self) -> bool:
        """Whether everything that could run passed."""
        return not self.broken and not self.failures

    def word(self, stem: str) -> str:
        if stem in self.passed:
            return "yes"
        return "NO" if self.broken or stem in self.failures else "–"


def table(outcomes: Sequence[LanguageResult]) -> str:
    """The table in Markdown."""
    rows = [["language", *STEMS, "run with"]]
    rows += [
        [row.language, *map(row.word, STEMS), row.toolchain or f"not run: {row.missing}"]
        for row in outcomes
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    rows.insert(1, ["-" * width for width in widths])
    return "\n".join(f"| {' | '.join(map(str.ljust, row, widths))} |" for row in rows)


def reasons(outcomes: Iterable[LanguageResult]) -> list[str]:
    """The reasons for everything that failed or did not run."""
    lines = []
    for row in outcomes:
        if row.missing:
            lines.append(f"{row.language} was not run: {row.missing}")
        if row.broken:
            lines.append(f"{row.language} does not compile:\n{row.broken}")
        lines += [f"{row.language}/{stem}: {why}" for stem, why in row.failures.items()]
    return lines


def main(arguments: Sequence[str]) -> int:
    """Returns 0 if all that could run passed, otherwise 1; 2 without a service."""
    options, names = parser("make examples", __doc__), [row.name for row in LANGUAGES]
    add = options.add_argument
    add("--only", type=names_of(names), default=names, help=f"languages, among {','.join(names)}")
    add("--install", action="store_true", help="get missing tools from Debian and npm")
    add("--jobs", type=int, default=2, help="languages at a time, 2 by default")
    add("--json", type=Path, help="file for the outcome as JSON")
    return run_command("examples", partial(_run, options.parse_args(arguments)))


def _run(options: argparse.Namespace) -> ExitCode:
    languages = [row for row in LANGUAGES if row.name in options.only]
    with running() as service, ThreadPoolExecutor(options.jobs) as pool:
        outcomes = list(
            pool.map(lambda row: check_language(row, service, install=options.install), languages)
        )
    say("\n" + "\n".join([table(outcomes), "", *reasons(outcomes)]))
    write_json(options.json, [asdict(row) for row in outcomes])
    is_good = all(row.is_good for row in outcomes)
    return ExitCode.PASSED if is_good else ExitCode.FAILED


def check_language(language: Language, service: Service, *, install: bool) -> LanguageResult:
    outcome = LanguageResult(language.name)
    try:
        toolchain = prepare(language, install=install)
    except MissingError as error:
        outcome.missing = str(error)
        return outcome
    except BuildError as error:
        outcome.broken = str(error)
        return outcome
    outcome.toolchain = toolchain.version
    for stem, trial in CHECKS.items():
        try:
            trial(ExampleRun(language, toolchain, service))
            outcome.passed.append(stem)
        except (FailedError, OSError, subprocess.TimeoutExpired) as error:
            outcome.failures[stem] = str(error)
    say(f"{language.name}: {len(outcome.passed)} of {len(CHECKS)}")
    return outcome


def prepare(language: Language, *, install: bool) -> Toolchain:
    try:
        return language.prepare(language.place)
    except MissingError:
        if not install:
            raise
    language.install(language.place)
    return language.prepare(language.place)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
