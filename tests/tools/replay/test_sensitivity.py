"""A replay's goals when each number of its world is halved and doubled."""

import json
from pathlib import Path
from typing import Any

import pytest

from tools.replay.__main__ import main
from tools.replay.goals import goals
from tools.replay.run import AttackTally, HonestTally, Recovery, Result, Tally
from tools.replay.sensitivity import variants
from tools.replay.world import World, build

SMALL: dict[str, Any] = {
    "name": "small",
    "days": 0.2,
    "warm_up_days": 0,
    "sends_per_day": 1000,
    "reach": [{"channels": ["telegram"], "share": 0.9}, {"channels": [], "share": 0.1}],
    "channels": {"telegram": {}},
}


def changed(name: str, given: dict[str, Any]) -> dict[str, Any]:
    return dict(variants(given))[name]


def test_each_number_is_halved_and_doubled_alone() -> None:
    given = {
        **SMALL,
        "attacks": [{"day": 0, "hours": 1, "per_hour": 9, "prefix": "+1", "enters": 0.2}],
    }
    halved = changed("SMS lost ×0.5", given)
    doubled = changed("SMS lost ×2", given)

    assert (halved["channels"]["sms"]["lost"], doubled["channels"]["sms"]["lost"]) == (0.015, 0.06)
    halved["channels"]["sms"]["lost"] = doubled["channels"]["sms"]["lost"]
    assert halved == doubled
    assert changed("codes that attackers enter ×2", given)["attacks"][0]["enters"] == 0.4


def result(world: World, *, ours: tuple[int, int], lost: int = 0, refused: int = 0) -> Result:
    def tally(verified: int, tokens: int) -> Tally:
        return Tally(1000, verified, tokens, [10.0] * verified)

    policies = {
        "sms": tally(900, 14_400),
        "baseline": tally(900, 3_000),
        "ours": tally(*ours),
        "oracle": tally(900, 2_700),
    }
    recovery = Recovery([float(n) for n in range(900)], [n > 400 for n in range(900)], [True] * 900)
    attacks = [AttackTally(tokens_lost=lost) for _ in world.attacks]
    return Result(
        world.name,
        1,
        policies,
        attacks,
        HonestTally(10_000, refused),
        [recovery for _ in world.changes],
    )


def missed(world: World, one: Result) -> list[str]:
    return [goal.name for goal in goals(world, [one]) if not goal.is_held]


ATTACK = {"day": 0, "hours": 48, "per_hour": 9, "prefix": "+1"}


def test_goals_that_are_held_and_missed() -> None:
    world = build({**SMALL, "attacks": [ATTACK]})

    assert missed(world, result(world, ours=(900, 3_000), lost=400, refused=1)) == []
    assert missed(world, result(world, ours=(890, 4_000), lost=401, refused=2)) == [
        "verified, share of sms",
        "verified, points below baseline",
        "tokens per verified, of oracle",
        "tokens per verified, of sms",
        "attack 0, tokens lost",
        "honest refused, of 10,000",
    ]


def test_command_reports_flips_and_draws(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world = tmp_path / "w.json"
    out = tmp_path / "out.json"
    attack = {**ATTACK, "day": 0.01, "hours": 2, "per_hour": 30, "prefix": "+25261"}
    change = {"day": 0.1, "channel": "telegram", "set": {"lost": 1}}
    given = {**SMALL, "days": 0.15, "attacks": [attack], "changes": [change]}
    world.write_text(json.dumps(given), encoding="utf-8")

    arguments = f"--world {world} --seeds 1-2 --jobs 1 --sensitivity --json {out}"

    code = main([*arguments.split(), "--plots", str(tmp_path)])

    text = capsys.readouterr().out
    assert code == 0
    assert "  SMS lost ×2: " in text
    assert "goals flipped" in text
    assert isinstance(json.loads(out.read_text(encoding="utf-8"))["flips"], list)
    for name in ("replay-regret", "replay-attacks", "replay-recovery"):
        assert (tmp_path / f"{name}.svg").read_text(encoding="utf-8").count("<polyline") >= 1
