"""Every documentation snippet and every example that needs no compiler runs as it is given."""

import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import requests

from accounts.models import Mode
from api_docs.pages.contexts import HINT
from tests.factories import ApiKeyFactory, LinkFactory
from tests.stack.stack import Stack
from tools.examples.__main__ import check_language
from tools.examples.checks import ExampleRun, FailedError, handle_errors
from tools.examples.languages import LANGUAGES, SOURCES, STEMS, Toolchain
from tools.examples.service import Service

PAGES = ("quickstart", "test-mode", "idempotency", "links")
REFUSED = {"test-mode": 1}  # it shows a refusal: `challenge_required`
EVERY_PAGE = (*PAGES, "send-code", "verify-code", "shorten", "send-link")
_BLOCK = re.compile(r"^```bash\n(.*?)\n```$", re.S | re.M)


@pytest.fixture
def key(stack: Stack) -> str:
    company = stack.sender().company
    LinkFactory.create(company=company, mode=Mode.TEST)
    return ApiKeyFactory.create(company=company, mode=Mode.TEST).plaintext


def snippets(stack: Stack, page: str, language: str) -> list[str]:
    text = requests.get(f"{stack.url}/docs/{page}.md?lang={language}&code=curl", timeout=20).text
    return _BLOCK.findall(text)


def paste(script: str, place: Path) -> str:
    """The output of a shell that has none of our variables."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("KVITOK")}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        cwd=place,
        env=clean,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


@pytest.mark.parametrize("language", ["ru", "en"])
@pytest.mark.parametrize("page", PAGES)
def test_snippets_run_as_they_stand(
    stack: Stack, key: str, page: str, language: str, tmp_path: Path
) -> None:
    script = "\n".join(snippets(stack, page, language))
    assert HINT in script

    output = paste(script.replace(HINT, key), tmp_path)

    assert output.count('"success":true') >= 1
    assert output.count('"success":false') == REFUSED.get(page, 0)


@pytest.mark.parametrize("page", EVERY_PAGE)
def test_page_defines_the_variables_it_reads(stack: Stack, page: str) -> None:
    script = "\n".join(snippets(stack, page, "en"))

    read = set(re.findall(r"\$\{?([A-Z_]{2,})", script))
    made = set(re.findall(r"^(?:export )?([A-Z_]+)=", script, re.M))
    assert read - made == set()


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
    """In those of these languages that this machine can run, and Python it can; at once, for most
    of the time they wait. A spoiled one is noticed.
    """
    chosen = [BY_NAME[name] for name in ("python", "curl", "javascript")]
    wrong = ExampleRun(BY_NAME["python"], spoiled(tmp_path), service)

    doomed = threads.submit(handle_errors, wrong)
    outcomes = list(
        threads.map(lambda language: check_language(language, service, install=False), chosen)
    )

    assert {outcome.language: outcome.failures for outcome in outcomes if not outcome.is_good} == {}
    assert outcomes[0].passed == list(STEMS)
    with pytest.raises(FailedError, match="keys"):
        doomed.result()
