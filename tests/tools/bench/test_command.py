"""The benchmark's command."""

import pytest

from tools.bench import __main__ as command


def test_unknown_row_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        command._options(["--only", "verify,hello"])

    assert "unknown: hello" in capsys.readouterr().err
