"""Infobip's client for Python judges the dialect `infobip`."""

import pytest

from accounts.models import Mode
from tests.compat.clients import client_key
from tests.factories import ApiKeyFactory
from tests.judges.programs import run
from tests.stack.stack import Stack

pytestmark = pytest.mark.long


def test_python_client_of_infobip_is_served(stack: Stack) -> None:
    company = stack.sender().company
    reader = ApiKeyFactory.create(company=company, mode=Mode.TEST).plaintext
    key = client_key(company).plaintext

    said = run("infobip_sdk.py", f"{stack.url}/compat/infobip", key, reader)

    assert "10 cases passed" in said
