"""The examples of docs/examples that need no compiler, run against the whole service."""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from accounts.models import Mode
from tests.factories import ApiKeyFactory
from tests.stack.stack import Stack
from tools.examples.__main__ import check_language
from tools.examples.checks import ExampleRun, FailedError, handle_errors
from tools.examples.languages import LANGUAGES, SOURCES, STEMS, Toolchain
from tools.examples.service import Service

BY_NAME = {language.name: language for language in LANGUAGES}


@pytest.fixture
def service(stack: Stack) -> Service:
    company = stack.sender().company
    key = ApiKeyFactory.create(company=company, mode=Mode.TEST)
    return Service(f"{stack.url}/api/v1", key.plaintext)


def spoiled(tmp_path: Path) -> Toolchain:
    """Python's handling of errors, but for a new Idempotency-Key at every try."""
    source = (SOURCES / "python/handle_errors.py").read_text(encoding="utf-8")
    assert source.count("post(phone, key)") == 2
    file = tmp_path / "handle_errors.py"
    file.write_text(source.replace("post(phone, key)", "post(phone, str(uuid.uuid4()))"))
    return Toolchain("", lambda _file: [sys.executable, file])


def test_examples_do_what_they_show(
    service: Service, threads: ThreadPoolExecutor, tmp_path: Path
) -> None:
    """In those of these languages that this machine can run, and Python it can; at once, for
    most of the time they wait. A spoiled one is noticed.
    """
    chosen = [BY_NAME[name] for name in ("python", "curl", "javascript")]
    wrong = ExampleRun(BY_NAME["python"], spoiled(tmp_path), service)

    doomed = threads.submit(handle_errors, wrong)
    outcomes = list(threads.map(lambda item: check_language(item, service, install=False), chosen))

    assert {outcome.language: outcome.failures for outcome in outcomes if not outcome.is_good} == {}
    assert outcomes[0].passed == list(STEMS)
    with pytest.raises(FailedError, match="keys"):
        doomed.result()
