"""docs/simulator.md names every call and every kind of fault."""

from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

from config.environment.variables import ROOT
from config.local.demo_environment import simulated_smpp
from tools.simulator.api import Api
from tools.simulator.faults import KINDS, OUTCOMES

TEXT = (ROOT / "docs/simulator.md").read_text(encoding="utf-8")


def test_every_call_is_documented() -> None:
    nothing: Any = SimpleNamespace()
    routes = Api(nothing).routes()

    assert [route for route in routes if f"`{route.method} {route.path}`" not in TEXT] == []


def test_log_in_of_the_message_centre_is_documented() -> None:
    made = simulated_smpp({"SIMULATOR_SMPP_PORT": "8002"}, {"SMPP_PASSWORD": "made up"})

    url = urlsplit(made["SMPP_URL"])
    assert f"`{url.hostname}:{url.port}`" in TEXT
    assert f"the `system_id` `{url.username}`" in TEXT
    assert "`SMPP_PASSWORD` in `var/secrets.json`" in TEXT


def test_every_fault_and_outcome_is_documented() -> None:
    assert [kind for kind in (*KINDS, *OUTCOMES) if f"`{kind}`" not in TEXT] == []
