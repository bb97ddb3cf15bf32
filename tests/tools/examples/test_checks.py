"""The checks notice broken examples: a real one is spoiled for each."""

import sys
from pathlib import Path

import pytest

from tools.examples import __main__
from tools.examples.__main__ import LanguageResult
from tools.examples.checks import CHECKS, ExampleRun, FailedError, verify_webhook
from tools.examples.languages import LANGUAGES, SOURCES, Language, Toolchain, Workspace, build, tool
from tools.examples.service import Service

PYTHON = next(language for language in LANGUAGES if language.name == "python")
NOWHERE = Service("http://127.0.0.1:1/api/v1", "kv_test_none")


def trial_of(example: Path) -> ExampleRun:
    """A trial in which this is Python's example, whatever is asked for."""
    return ExampleRun(PYTHON, Toolchain("", lambda _file: [sys.executable, example]), NOWHERE)


def test_webhook_receiver_of_the_examples_passes_its_check() -> None:
    verify_webhook(trial_of(SOURCES / "python/verify_webhook.py"))


def test_receiver_that_checks_nothing_fails(tmp_path: Path) -> None:
    source = (SOURCES / "python/verify_webhook.py").read_text(encoding="utf-8")
    checked = "WEBHOOK.verify(body, dict(self.headers))"
    unchecked = "__import__('json').loads(body)"
    assert source.count(checked) == 1
    spoiled = tmp_path / "verify_webhook.py"
    spoiled.write_text(source.replace(checked, unchecked), encoding="utf-8")

    with pytest.raises(FailedError, match="flipped bit, 6 minutes old"):
        verify_webhook(trial_of(spoiled))


@pytest.mark.parametrize(
    ("good", "bad", "misjudged"),
    [
        ("return any(", "return True or any(", "flipped bit, changed time"),
        ("TOLERANCE = 5 * 60", "TOLERANCE = 60 * 60", "6 minutes old, 6 minutes ahead;"),
        ("TOLERANCE = 5 * 60", "TOLERANCE = 60", "4 minutes old;"),
        (".encode().split()", ".encode().split()[:1]", "second signature;"),
        ("encode() + body", "encode() + json.dumps(json.loads(body)).encode()", "genuine"),
        ("{sent_id}.{sent_at}.", "{sent_at}.", "genuine"),
        ('removeprefix("whsec_")', 'replace("_", "/")', "does not listen|misjudged: genuine"),
    ],
)
def test_broken_receiver_fails(good: str, bad: str, misjudged: str, tmp_path: Path) -> None:
    """One that checks by hand, as those of languages without the library do."""
    source = Path(__file__).with_name("receiver.txt").read_text(encoding="utf-8")
    assert source.count(good) == 1
    spoiled = tmp_path / "verify_webhook.py"
    spoiled.write_text(source.replace(good, bad), encoding="utf-8")

    with pytest.raises((FailedError, OSError), match=misjudged):
        verify_webhook(trial_of(spoiled))


def lacking(_place: Workspace) -> Toolchain:
    tool("no-such-compiler")
    raise AssertionError


def broken(_place: Workspace) -> Toolchain:
    build(["bash", "-c", "echo line 3: no; exit 1"])
    raise AssertionError


def dead(_place: Workspace) -> Toolchain:
    return Toolchain("Shell 1.0", lambda _file: ["bash", "-c", "echo nothing to say"])


def outcome_of(language: Language) -> LanguageResult:
    return __main__.check_language(language, NOWHERE, install=False)


def test_unavailable_language_is_reported_and_not_a_failure() -> None:
    outcome = outcome_of(Language("curl", "sh", lacking, lambda _place: None))

    assert outcome.is_good
    assert __main__.reasons([outcome]) == ["curl was not run: no no-such-compiler"]


def test_language_that_does_not_compile_is_a_failure() -> None:
    outcome = outcome_of(Language("curl", "sh", broken, lambda _place: None))

    assert not outcome.is_good
    assert __main__.reasons([outcome]) == ["curl does not compile:\nline 3: no"]


def test_examples_that_do_nothing_are_failures() -> None:
    outcome = outcome_of(Language("curl", "sh", dead, lambda _place: None))

    assert not outcome.is_good
    assert set(outcome.failures) == {*CHECKS}
