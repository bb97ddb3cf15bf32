"""`python -m tools.examples`: every example, with every toolchain found, against a live service."""

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import requests

from config.local.processes import StartError
from tools.command_line import ExitCode, run_command, say
from tools.examples import report
from tools.examples.checks import CHECKS, ExampleRun, FailedError
from tools.examples.languages import LANGUAGES, Language
from tools.examples.report import LanguageResult
from tools.examples.service import Service, running
from tools.examples.toolchains import BuildError, MissingError, Toolchain


def main(arguments: Sequence[str]) -> int:
    """0 when all that could run did what it shows, 1 when not, 2 without a service."""
    return run_command("examples", partial(_run, _options(arguments)))


def _run(options: argparse.Namespace) -> ExitCode:
    chosen = [one for one in LANGUAGES if one.name in options.only]
    try:
        with running() as service, ThreadPoolExecutor(options.jobs) as pool:
            outcomes = list(
                pool.map(lambda one: check_language(one, service, install=options.install), chosen)
            )
    except (StartError, requests.RequestException) as error:
        say(f"examples: {error}")
        return ExitCode.NOT_MADE
    say("\n" + "\n".join([report.table(outcomes), "", *report.reasons(outcomes)]))
    if options.json:
        text = json.dumps([one.as_dict() for one in outcomes], indent=1, ensure_ascii=False)
        options.json.write_text(text + "\n", encoding="utf-8")
    is_good = all(one.is_good for one in outcomes)
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
    outcome.version = toolchain.version
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


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="make examples", description=__doc__)
    add = parser.add_argument
    names = [one.name for one in LANGUAGES]
    add("--only", type=_names, default=names, help=f"languages, of {','.join(names)}")
    add("--install", action="store_true", help="get missing tools from Debian and npm")
    add("--jobs", type=int, default=2, help="languages at a time, 2 by default")
    add("--json", type=Path, help="where to write the outcome as JSON, too")
    return parser.parse_args(arguments)


def _names(text: str) -> list[str]:
    names = text.split(",")
    if unknown := set(names) - {one.name for one in LANGUAGES}:
        raise argparse.ArgumentTypeError(f"no such languages: {', '.join(sorted(unknown))}")
    return names


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
