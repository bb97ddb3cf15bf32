"""Twilio's clients and its schema judge the dialect `twilio`."""

import re
from pathlib import Path

import pytest

from accounts.models import Mode
from compat.twilio.dialect import service_sid
from tests.compat.clients import client_key
from tests.factories import ApiKeyFactory
from tests.judges.programs import DIRECTORY, PYTHON, run, run_node
from tests.stack.stack import Stack

pytestmark = pytest.mark.long
SCHEMA = DIRECTORY / "twilio/twilio_verify_v2.yaml"


@pytest.fixture
def arguments(stack: Stack) -> list[str]:
    company = stack.sender().company
    key = client_key(company).plaintext
    reader = ApiKeyFactory.create(company=company, mode=Mode.TEST).plaintext
    service = service_sid(company.pk, Mode.TEST, "login")
    return [f"{stack.url}/compat/twilio", key, service, reader]


def test_python_client_of_twilio_is_served(arguments: list[str]) -> None:
    assert "8 cases passed" in run("twilio_sdk.py", *arguments)


def test_node_client_of_twilio_is_served(arguments: list[str]) -> None:
    assert run_node("twilio_sdk.mjs", *arguments) == "ok"


def test_answers_fit_the_schema(arguments: list[str]) -> None:
    if not SCHEMA.exists():
        pytest.skip(f"put spec/yaml/twilio_verify_v2.yaml of twilio/twilio-oai at {SCHEMA}")

    said = run("twilio_sdk.py", *arguments, SCHEMA)

    assert int(said.split()[-6]) > 20


def test_schemathesis_finds_no_crash(arguments: list[str], tmp_path: Path) -> None:
    """Any value that the schema allows, and many that it does not: never a 5xx."""
    if not SCHEMA.exists():
        pytest.skip(f"put spec/yaml/twilio_verify_v2.yaml of twilio/twilio-oai at {SCHEMA}")
    address, key, service, _reader = arguments
    schema = tmp_path / "schema.yaml"  # whose services are the one that there is
    text = SCHEMA.read_text(encoding="utf-8").replace("^VA[0-9a-fA-F]{32}$", f"^{service}$")
    schema.write_text(text, encoding="utf-8")

    said = run(
        PYTHON.with_name("schemathesis"),
        "run",
        schema,
        "--url",
        address,
        "--auth",
        f"AC{'0' * 32}:{key}",
        "--checks",
        "not_a_server_error",
        "--phases",
        "fuzzing",
        "--max-examples",
        "20",
        "--generation-database",
        "none",
        "--report-dir",
        tmp_path,
    )

    assert re.search(r"([0-9]+) generated, \1 passed", said)
