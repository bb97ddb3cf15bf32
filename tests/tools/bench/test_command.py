import pytest

from tools.bench import __main__ as command
from tools.bench import session


def test_every_row_can_be_asked_for_by_name() -> None:
    assert set(command.ROWS) == set(session.ROWS)
    assert command._options(["--only", "path,verify"]).only == ["verify", "path"]


def test_unknown_row_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command._options(["--only", "verify,hello"])

    assert "unknown: hello" in capsys.readouterr().err
