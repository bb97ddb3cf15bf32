"""The running API against its schema: every response conforms."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.stack.sender import Sender
from tests.stack.stack import Stack

# A request that fits the schema may still be refused with 422: a wrong code, a host not to link to.
EXCLUDED = "positive_data_acceptance"


def judge(stack: Stack, tmp_path: Path, *options: str) -> str:
    """The output of schemathesis, in its own folder, where it keeps its findings."""
    done = subprocess.run(
        [
            Path(sys.executable).with_name("st"),
            "run",
            f"{stack.url}/api/v1/openapi.json",
            f"--url={stack.url}/api/v1",
            f"--exclude-checks={EXCLUDED}",
            "--seed=20261120",
            *options,
        ],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    output = done.stdout + done.stderr
    assert done.returncode == 0, output[-6000:]
    return output


def cases(output: str) -> int:
    match = re.search(r"(\d+) generated, (\d+) passed", output)
    assert match is not None, output[-2000:]
    return int(match[2])


@pytest.mark.parametrize("has_key", [True, False])
def test_responses_match_the_schema(
    stack: Stack, sender: Sender, tmp_path: Path, *, has_key: bool
) -> None:
    with_key = [
        "--phases=examples,coverage,fuzzing",
        f"--header=Authorization: Bearer {sender.key}",
    ]
    without = ["--phases=examples,fuzzing"]  # all of it is refused alike

    output = judge(stack, tmp_path, "--max-examples=3", *(with_key if has_key else without))

    assert cases(output) > (200 if has_key else 20)
