"""The options of `python -m tools.bench`."""

import argparse

import pytest

from tools.bench import __main__ as command
from tools.bench import session


def test_every_row_can_be_asked_for_by_name() -> None:
    assert command.ROWS == session.ROWS
    assert command._names("path,verify") == ["verify", "path"]


def test_unknown_row_is_refused() -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="no such rows: hello"):
        command._names("verify,hello")


def test_options_have_their_defaults() -> None:
    options = command._options([])

    assert (options.seconds, options.rounds, options.concurrency) == (2, 4, [1, 16, 64])
    assert options.only == command.ROWS
