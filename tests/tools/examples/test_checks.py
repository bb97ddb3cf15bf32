"""The checks notice broken examples: a real one is spoiled for each."""

import sys
from pathlib import Path

import pytest

from tools.examples.checks import ExampleRun, FailedError, verify_webhook
from tools.examples.languages import LANGUAGES, SOURCES, Toolchain
from tools.examples.service import Service

PYTHON = next(one for one in LANGUAGES if one.name == "python")
NOWHERE = Service("http://127.0.0.1:1/api/v1", "kv_test_none")


def trial_of(example: Path) -> ExampleRun:
    """A trial in which this is Python's example, whatever is asked for."""
    return ExampleRun(PYTHON, Toolchain("", lambda _file: [sys.executable, example]), NOWHERE)


def test_the_receiver_is_right() -> None:
    verify_webhook(trial_of(SOURCES / "python/verify_webhook.py"))


def test_receiver_that_checks_nothing_fails(tmp_path: Path) -> None:
    source = (SOURCES / "python/verify_webhook.py").read_text(encoding="utf-8")
    checked, unchecked = (
        "WEBHOOK.verify(body, dict(self.headers))",
        "__import__('json').loads(body)",
    )
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
