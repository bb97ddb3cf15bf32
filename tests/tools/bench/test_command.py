import os
import re
import subprocess
import sys

import pytest

from config.local.checkout import CHECKOUT
from tools.bench import __main__ as command


def test_unknown_row_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command._options(["--only", "verify,hello"])

    assert "unknown: hello" in capsys.readouterr().err


def test_each_step_and_table_is_measured() -> None:
    completed = subprocess.run(
        [sys.executable, "-m", "tools.bench.storage", "--messages", "40"],
        env={"PATH": os.environ["PATH"]},
        cwd=CHECKOUT,
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )

    steps = re.findall(r"^WAL of (\w+) +[\d,]+ bytes a message", completed.stdout, re.MULTILINE)
    shares = dict(re.findall(r"^HOT (\w+) +([\d.]+)%", completed.stdout, re.MULTILINE))
    assert (completed.returncode, steps) == (0, ["send", "deliver", "verify"])
    assert float(shares["channels_message"]) > 80
    assert "bytes a message" in completed.stdout.splitlines()[-1]
