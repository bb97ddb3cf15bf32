"""Commands refuse input that is not UTF-8."""

import os
import subprocess
import sys

import pytest

from config.environment.variables import ROOT

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("arguments", "typed"),
    [
        (["grant_tokens", b"\xff", "--reason", "gift", "--", "1"], b""),
        (["grant_privileges", b"\xff"], b""),
        (["erase_person", "+79161234567"], b"\xff\n"),
    ],
)
def test_input_that_is_not_utf_8_is_refused_without_a_traceback(
    arguments: list[str | bytes], typed: bytes
) -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env=os.environ | {"PYTHONIOENCODING": "utf-8:strict"},  # as in most locales
        input=typed,
        capture_output=True,
        check=False,
        timeout=60,
    )

    assert done.returncode == 1
    assert done.stderr.startswith(b"An argument or another input is not UTF-8")
