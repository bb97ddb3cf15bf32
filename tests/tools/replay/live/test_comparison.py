"""The difference that a live run and a simulated one may have."""

import json
import os
import subprocess
import sys
from math import inf
from pathlib import Path

import pytest

from config.local.checkout import CHECKOUT
from tests.tools.replay.live.worlds import SMALL, small
from tools.replay.__main__ import main
from tools.replay.live.comparison import Comparison, compared, draw
from tools.replay.timeline import Outcome

SENDS = 100


def comparison(live: list[Outcome], virtual: list[Outcome]) -> Comparison:
    return compared("ours", draw(small(), 1, SENDS, a_second=10).sends, live, virtual)


def side(verified: int, tokens: int) -> list[Outcome]:
    """The first `verified` verify; the first paid all tokens."""
    return [
        Outcome(verified=9.0 if n < verified else inf, tokens=0 if n else tokens)
        for n in range(SENDS)
    ]


@pytest.mark.parametrize(
    ("verified", "tokens", "agrees"),
    [
        (90, 1000, True),
        (92, 1000, True),
        (88, 1050, True),
        (93, 1000, False),
        (87, 1000, False),
        (90, 1051, False),
        (90, 949, False),
    ],
)
def test_two_points_and_five_per_cent_are_allowed(
    verified: int, tokens: int, *, agrees: bool
) -> None:
    assert comparison(side(verified, tokens), side(90, 1000)).agrees is agrees


def test_tokens_on_one_side_only_disagree() -> None:
    assert comparison(side(90, 1), side(90, 0)).tokens_difference == inf
    assert comparison(side(90, 0), side(90, 0)).agrees


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
    world = tmp_path / "w.json"
    out = tmp_path / "out.json"
    world.write_text(json.dumps(SMALL), encoding="utf-8")

    done = played("--world", str(world), "--live", "40", "--json", str(out))

    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    result = json.loads(out.read_text(encoding="utf-8"))["live"]
    assert result["agrees"] is True
    assert result["unexpected"] == {}
    assert set(result["policies"]) == {"sms", "baseline", "ours"}
    assert {policy["live"]["sends"] for policy in result["policies"].values()} == {40}


@pytest.mark.parametrize("number", ["0", "-1", "1000001", "x"])
def test_number_of_sends_is_checked(number: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--live", number])

    assert "argument --live" in capsys.readouterr().err
