"""A replay of a world: its figures, its goals and its command."""

import json
from pathlib import Path
from typing import Any

import pytest

from tools.replay.__main__ import SHIPPED, main
from tools.replay.run import as_json, run
from tools.replay.world import WorldError, build, read

SMALL: dict[str, Any] = {
    "name": "small",
    "days": 1,
    "warm_up_days": 2,
    "sends_per_day": 1000,
    "reach": [{"channels": ["telegram"], "share": 0.9}, {"channels": [], "share": 0.1}],
    "channels": {"telegram": {}},
}


def test_run_is_determined_by_its_seed() -> None:
    world = build(SMALL)

    assert as_json([run(world, 3)]) == as_json([run(world, 3)])
    assert as_json([run(world, 3)]) != as_json([run(world, 4)])


def test_goals_hold_in_a_small_world() -> None:
    policies = run(build(SMALL), 1).policies
    ours = policies["ours"]
    sms = policies["sms"]
    oracle = policies["oracle"]

    assert ours.verified >= 0.99 * sms.verified
    assert ours.tokens / ours.verified <= 0.35 * sms.tokens / sms.verified
    assert ours.tokens / ours.verified <= 1.35 * oracle.tokens / oracle.verified
    assert (ours.quantile(0.95) or 0) <= 1.2 * (sms.quantile(0.95) or 0)


def test_attack_is_stopped() -> None:
    attack = {"day": 0.2, "hours": 2, "per_hour": 400, "prefix": "+25261"}

    result = run(build({**SMALL, "attacks": [attack]}), 1)

    assert result.attacks[0].tokens_lost <= 400
    assert (result.honest.refused, result.honest.challenged) == (0, 0)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"colour": 1}, "'colour' was unexpected"),
        (
            {"people": {"typing": {"median": 9, "sigma": 1, "x": 1}}},
            "people.typing: .*'x' was unexpected",
        ),
        ({"attacks": [{"day": 1}]}, r"attacks\[0\]: 'hours' is a required"),
        ({"days": "two"}, "days: 'two' is not of type 'number'"),
        ({"people": {"returning": 1.5}}, "people.returning: 1.5 is greater than"),
        ({"reach": [{"channels": [], "share": 0.5}]}, "reach: the shares sum to 0.5"),
        ({"baseline": ["pigeon"]}, "baseline: 'pigeon' is no channel"),
        (
            {"changes": [{"day": 1, "channel": "sms", "set": {"gone": 1}}]},
            r"changes\[0\].set: .*'gone' was unexpected",
        ),
    ],
)
def test_malformed_world_is_refused_with_the_path(change: dict[str, Any], error: str) -> None:
    with pytest.raises(WorldError, match=error):
        build({**SMALL, **change})


@pytest.mark.parametrize("path", sorted(SHIPPED.glob("*.json")), ids=lambda path: path.stem)
def test_every_shipped_world_is_read(path: Path) -> None:
    assert build(read(path)).name == path.stem


def test_command_writes_its_figures(tmp_path: Path) -> None:
    world = tmp_path / "w.json"
    out = tmp_path / "out.json"
    world.write_text(json.dumps({**SMALL, "days": 0.2, "warm_up_days": 0}), encoding="utf-8")

    code = main(["--world", str(world), "--seeds", "1-2", "--json", str(out)])

    written = json.loads(out.read_text(encoding="utf-8"))["worlds"]
    assert code == 0
    assert [(report["name"], report["seed"]) for report in written] == [("small", 1), ("small", 2)]
    assert set(written[0]["policies"]) == {"sms", "baseline", "ours", "oracle"}
