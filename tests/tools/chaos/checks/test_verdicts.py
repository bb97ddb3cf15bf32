"""Uncharged deliveries and their reasons; missing kills; errors in logs."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.factories import AttemptFactory, ReceiptFactory
from tests.tools.chaos.checks.scenarios import World
from tools.chaos import checks
from tools.chaos.checks import PROVABLE, logged_errors
from tools.chaos.fault_injector import FaultInjector
from tools.chaos.plan import Options, Plan, Target, make
from tools.chaos.report import check_kills, check_logs

OPTIONS = Options(seed=7, sends=300, kills=6, flush=False, short=True)


def why(**more: Any) -> list[str]:
    """Why a second message of the world is free, which its phone got and nobody paid for."""
    world = World()
    message = world.another(state="expired")
    world.transfer(message, "release")
    attempt = AttemptFactory.create(
        message=message, state="expired", provider=more.pop("provider", "twilio"), provider_id=None
    )
    if more.pop("said_failed", False):
        ReceiptFactory.create(attempt=attempt, state="failed", provider_id="SM1")
    world.phone.append(world.arrival(attempt, id=2, provider_id="SM1", **more))
    world.lay_out()
    return list(checks.uncharged().values())


@pytest.mark.django_db
def test_too_many_uncharged_deliveries_violate_the_invariant() -> None:
    assert why() == [PROVABLE]

    (timeline,) = checks.check_uncharged(checks.uncharged()).subjects

    assert "| attempt 1 expired" in timeline


class Struck(FaultInjector):
    """One that has done so much."""

    def __init__(self, kills: Counter[str], disruptions: Counter[str]) -> None:
        self.kills, self.disruptions = kills, disruptions


def planned(plan: Plan) -> Counter[str]:
    return Counter(str(planned_fault.what) for planned_fault in plan.planned_faults)


def test_missing_kill_fails_the_run() -> None:
    plan = make(OPTIONS)
    done = planned(plan)

    complete = check_kills(plan, Struck(done, Counter()))
    missing = check_kills(plan, Struck(done - Counter({Target.POSTGRES: 1}), Counter()))

    assert complete.is_kept
    assert missing.subjects == ["postgres: 0 of 1"]


def test_errors_that_a_kill_explains_are_told_from_others(tmp_path: Path) -> None:
    away = "E\ndjango.db.utils.OperationalError: server closed the connection unexpectedly"
    bug = "E\nKeyError: 'code'"
    lines = [
        json.dumps({"event": "dispatch_failed", "level": "error", "exception": away}),
        json.dumps({"event": "database_unavailable", "level": "error", "error": "PoolTimeout"}),
        json.dumps(
            {
                "event": "Service Unavailable: /hooks/x",
                "level": "error",
                "logger": "django.request",
            }
        ),
        json.dumps({"event": "message_not_rendered", "level": "error", "exception": bug}),
        json.dumps({"event": "api_request", "level": "info", "status": 200}),
        "Traceback (most recent call last):",
        '  File "x.py", line 1, in f',
        "ValueError: no",
    ]
    log = tmp_path / "worker.log"
    log.write_text("\n".join(lines), encoding="utf-8")

    explained, others = logged_errors([log])

    assert explained.total() == 3
    assert others == {
        "worker: message_not_rendered (KeyError: 'code')": 1,
        "worker: traceback (ValueError: no)": 1,
    }
    assert len(check_logs(others).subjects) == 2
