"""`tools.bench.pages` measures the cabinet's pages on a short history."""

import os
import re
import subprocess
import sys

from config.local.checkout import CHECKOUT


def test_every_page_is_asked_for_and_explained() -> None:
    completed = subprocess.run(
        [
            sys.executable,
            "-m",
            "tools.bench.pages",
            "--messages",
            "1500",
            "--days",
            "2",
            "--times",
            "1",
        ],
        env={"PATH": os.environ["PATH"]},
        cwd=CHECKOUT,
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
    )

    pages = re.findall(r"^(.+): median \d+ ms, worst", completed.stdout, re.MULTILINE)
    assert {"overview", "history", "state=failed", "whole phone", "statement"} <= set(pages)
    assert completed.stdout.count("Execution Time:") == len(pages)
