"""Prelude's clients for Python and Node.js judge the dialect `prelude`."""

import pytest

from accounts.models import Mode
from tests.compat.clients import client_key
from tests.factories import ApiKeyFactory
from tests.judges.programs import run, run_node
from tests.stack.stack import Stack

pytestmark = pytest.mark.long


@pytest.fixture
def arguments(stack: Stack) -> list[str]:
    company = stack.sender().company
    reader = ApiKeyFactory.create(company=company, mode=Mode.TEST).plaintext
    return [f"{stack.url}/compat/prelude", client_key(company).plaintext, reader]


def test_python_client_of_prelude_is_served(arguments: list[str]) -> None:
    assert "12 cases passed" in run("prelude_sdk.py", *arguments)


def test_node_client_of_prelude_is_served(arguments: list[str]) -> None:
    assert run_node("prelude_sdk.mjs", *arguments) == "ok"
