"""Every provider has texts, settings, setup steps and a simulator."""

import re
from pathlib import Path

import pytest

from channels.providers import http
from channels.providers.twilio import provider as twilio
from channels.providers.vendors import VENDORS as VENDORS_OF_OURS
from channels.providers.whatsapp.errors import ERROR_KINDS
from channels.vendor_accounts import error_texts, registry
from tests.channels.deliver.test_fault_matrix import SENDS
from tests.channels.providers.finding import http_providers, name_of, provider_classes
from tests.channels.providers.test_checks import QUESTIONS
from tests.channels.providers.vendors import PAYLOADS, VENDORS
from tests.tools.simulator import sends
from tools.simulator.pages.shared import LANGUAGES
from tools.simulator.vendor import HttpVendor

ROOT = Path(__file__).resolve().parents[3]
GUIDE = (ROOT / "docs/adding-a-provider.md").read_text(encoding="utf-8")


@pytest.fixture(params=sorted(http_providers()))
def name(request: pytest.FixtureRequest) -> str:
    named: str = request.param
    return named


def test_guide_names_the_tests_that_every_provider_passes() -> None:
    shared = {path.name for path in (ROOT / "tests/channels/providers").glob("test_*.py")}
    others = {"test_gsm.py", *(f"test_{name}.py" for name in VENDORS_OF_OURS)}

    assert {name for name in shared - others if f"{name}`" not in GUIDE} == set()


def test_provider_is_registered(name: str) -> None:
    made = registry.provider_class(VENDORS_OF_OURS[name])

    assert made.name == name
    assert made.__module__.startswith("channels.providers.")


def test_vendors_share_no_variables_and_no_webhook() -> None:
    for names in (
        [vendor.prefix for vendor in VENDORS_OF_OURS.values()],
        [vendor.hook for vendor in VENDORS_OF_OURS.values() if vendor.hook],
    ):
        assert len(names) == len(set(names))


def test_provider_has_title_guide_and_page(name: str) -> None:
    title = error_texts.provider_title(name)
    pages = [path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "vendors").glob("*.md")]

    assert title != name
    assert registry.setup_steps(name)
    assert any(f"# {title}\n".lower() in page.lower() for page in pages)


def test_every_vendor_is_simulated_and_titled(name: str) -> None:
    assert name in {kind.name for kind in HttpVendor.kinds()}
    assert all(f"provider_{name}" in language for language in LANGUAGES.values())
    assert name in {vendor.name for vendor in sends.ALL}


def test_every_provider_has_check_and_fault_tests(name: str) -> None:
    assert name in QUESTIONS
    assert name in SENDS


def test_is_connected_in_the_admin(name: str) -> None:
    assert VENDORS_OF_OURS[name].fields


def test_has_dated_payloads_with_their_source(name: str) -> None:
    assert missing_payloads(name) == []


@pytest.mark.parametrize(
    ("name", "kinds"), [("twilio", twilio.ERROR_KINDS), ("whatsapp_cloud", ERROR_KINDS)]
)
def test_codes_that_mean_more_than_a_refusal_have_texts(
    name: str, kinds: dict[int, http.ErrorKind]
) -> None:
    codes = {code for code, kind in kinds.items() if kind != http.REFUSED}

    without = {code for code in codes if str(code) not in VENDORS_OF_OURS[name].failures}

    assert without - set(range(200, 300)) - {30004} == set()


def test_every_vendor_declares_its_contents(name: str) -> None:
    assert VENDORS[name].account().capabilities.contents


def missing_payloads(name: str) -> list[str]:
    """The missing payloads of a provider."""
    folder = PAYLOADS / name
    files = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    source = (PAYLOADS / "README.md").read_text(encoding="utf-8")
    dated = re.compile(r"[a-z_]+_20\d\d-(0[1-9]|1[0-2])\.(json|form)")
    wanted = {
        "names with their dates": all(dated.fullmatch(file) for file in files),
        "accepted and error": {"accepted", "error"} <= {file.partition("_")[0] for file in files},
        "five files": len(files) >= 5,
        "its source": f"| `{name}` |" in source,
    }
    return [what for what, is_there in wanted.items() if not is_there]


def test_every_vendor_of_the_registry_is_found_under_its_name() -> None:
    result = {name_of(class_): class_ for class_ in provider_classes()}

    assert {name: result.get(name) for name in VENDORS_OF_OURS} == {
        name: registry.provider_class(vendor) for name, vendor in VENDORS_OF_OURS.items()
    }
