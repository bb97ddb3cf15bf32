"""The doctor on a running service, and on one whose parts have died."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.stack.programs import wait_until
from tests.stack.stack import Stack

ROOT = Path(__file__).resolve().parents[2]


def examined(stack: Stack, **changes: str) -> dict[str, dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "manage.py", "doctor", "--json"],
        cwd=ROOT,
        env=stack._environ | changes,
        text=True,
        capture_output=True,
        check=False,
    )
    result = {load["name"]: load for load in json.loads(done.stdout)}
    assert done.returncode == int(any(not check["ok"] for check in result.values()))
    return result


def crosses(stack: Stack) -> set[str]:
    return {name for name, check in examined(stack).items() if not check["ok"]}


def test_worker_that_died_is_noticed_within_half_a_minute(stack: Stack) -> None:
    wait_until(lambda: "worker" not in crosses(stack), seconds=60)
    stack.worker.kill()

    wait_until(lambda: "worker" in crosses(stack), seconds=60)

    stack.worker.start()
    stack.recover()
    stack.new_errors()
