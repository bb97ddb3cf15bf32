"""Every documentation snippet runs in a shell as it is pasted."""

import os
import re
import subprocess
from pathlib import Path

import pytest
import requests

from accounts.models import Mode
from api_docs.pages.contexts import HINT
from tests.factories import ApiKeyFactory, LinkFactory
from tests.stack.stack import Stack

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
    """What a shell says, that has none of our variables."""
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
