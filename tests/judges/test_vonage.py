"""Vonage's clients judge the dialect `vonage`."""

from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization

from accounts.models import Mode
from tests.accounts.keys.jwt_clients import private_key, public_pem
from tests.compat.clients import client_key
from tests.factories import ApiKeyFactory
from tests.judges.programs import run, run_node
from tests.stack.stack import Stack

pytestmark = pytest.mark.long


@pytest.fixture
def arguments(stack: Stack, tmp_path: Path) -> list[str]:
    company = stack.sender().company
    key = client_key(company, public_key=public_pem(private_key()))
    reader = ApiKeyFactory.create(company=company, mode=Mode.TEST).plaintext
    file = tmp_path / "private.key"
    file.write_bytes(
        private_key().private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    return [f"{stack.url}/compat/vonage", key.plaintext, reader, key.application_id, str(file)]


def test_python_client_of_vonage_is_served(arguments: list[str]) -> None:
    assert "14 cases passed" in run("vonage_sdk.py", *arguments)


def test_node_client_of_vonage_is_served(arguments: list[str]) -> None:
    assert run_node("vonage_sdk.mjs", *arguments) == "ok"
