"""The simulated vendors' lists of templates, senders and campaigns, read by our own providers."""

from collections.abc import Iterator

import pytest

from channels.providers.base import Approval, ApprovalKind, ApprovalStatus
from tests.tools.simulator.peers import Simulator
from tests.tools.simulator.test_accounts import account, lack


@pytest.fixture(autouse=True)
def _whole_again(simulator: Simulator) -> Iterator[None]:
    yield
    lack(simulator)


def read(simulator: Simulator, vendor: str, *lacks: str) -> list[Approval]:
    lack(simulator, *lacks)
    approvals = account(simulator, vendor).approvals()
    assert approvals is not None
    return approvals


@pytest.mark.parametrize("vendor", ["whatsapp", "smsc", "service"])
def test_whole_account_has_everything_it_uses_approved(simulator: Simulator, vendor: str) -> None:
    used = [item for item in read(simulator, vendor) if item.is_used]

    assert used
    assert {item.status for item in used} == {ApprovalStatus.APPROVED}


def test_templates_are_rejected_and_paused_with_reason_and_quality(simulator: Simulator) -> None:
    result = read(simulator, "whatsapp", "template_rejected", "template_paused")

    (rejected,) = [item for item in result if item.status is ApprovalStatus.REJECTED]
    (paused,) = [item for item in result if item.status is ApprovalStatus.PAUSED]
    assert (rejected.kind, rejected.reason) == (ApprovalKind.TEMPLATE, "INVALID_FORMAT")
    assert (paused.word, paused.quality) == ("PAUSED", "RED")
