"""What a provider needs besides its file, so that none is half there."""

import re

import pytest

from channels import registry, wording
from channels.simulator.faults import PROVIDERS
from channels.simulator.words import LANGUAGES
from tests.channels.providers.conftest import http_providers
from tests.channels.providers.test_checks import QUESTIONS
from tests.channels.providers.vendors import PAYLOADS
from tests.channels.test_fault_matrix import SENDS
from tests.simulator import sends


@pytest.fixture(params=sorted(http_providers()))
def name(request: pytest.FixtureRequest) -> str:
    named: str = request.param
    return named


def test_has_its_line_in_the_registry(name: str) -> None:
    assert registry.VENDORS[name].make.__module__ == f"channels.providers.{name}"


def test_has_a_title_for_people(name: str) -> None:
    assert wording.provider_title(name) != name


def test_is_played_by_the_simulator(name: str) -> None:
    assert name in PROVIDERS
    assert all(f"provider_{name}" in words for words in LANGUAGES.values())
    assert name in {vendor.name for vendor in sends.ALL}


def test_is_asked_whether_it_works_and_tried_with_every_fault(name: str) -> None:
    assert name in QUESTIONS
    assert name in SENDS


def test_has_dated_payloads_with_their_source(name: str) -> None:
    files = [path.name for path in (PAYLOADS / name).iterdir()]
    source = (PAYLOADS / "README.md").read_text(encoding="utf-8")

    assert all(re.fullmatch(r"[a-z_]+_20\d\d-(0[1-9]|1[0-2])\.(json|form)", one) for one in files)
    assert {"accepted", "error"} <= {one.partition("_")[0] for one in files}
    assert len(files) >= 5
    assert f"| `{name}` |" in source
