"""The whole command: a few sends through the running service fare as in virtual time."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from config.local.checkout import CHECKOUT
from tests.tools.replay.live.worlds import SMALL
from tools.replay.__main__ import main


def played(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tools.replay", *options],
        env={"PATH": os.environ["PATH"]},
        cwd=CHECKOUT,
        check=False,
        capture_output=True,
        text=True,
        timeout=280,
    )


@pytest.mark.long
@pytest.mark.timeout(300)
def test_a_few_sends_agree(tmp_path: Path) -> None:
    world, out = tmp_path / "w.json", tmp_path / "out.json"
    world.write_text(json.dumps(SMALL), encoding="utf-8")

    done = played("--world", str(world), "--live", "40", "--json", str(out))

    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    found = json.loads(out.read_text(encoding="utf-8"))["live"]
    assert found["agrees"] is True
    assert found["unexpected"] == {}
    assert set(found["policies"]) == {"sms", "baseline", "ours"}
    assert {one["live"]["sends"] for one in found["policies"].values()} == {40}


@pytest.mark.parametrize("number", ["0", "-1", "1000001", "x"])
def test_number_of_sends_is_checked(number: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--live", number])

    assert "argument --live" in capsys.readouterr().err
