"""What a person types."""

from dataclasses import replace

import pytest

from tests.tools.replay.live.worlds import small
from tools.replay.live.comparison import draw
from tools.replay.live.people import entries

SEND = replace(draw(small(), 1, 1, a_second=1).sends[0], typing=12.0)


@pytest.mark.parametrize(
    ("wrong", "never_right", "typed"),
    [
        (0, False, [(12.0, "0999")]),
        (2, False, [(4.0, "1000"), (4.0, "1001"), (4.0, "0999")]),
        (2, True, [(6.0, "1000"), (6.0, "1001")]),
        (0, True, []),
    ],
)
def test_wrong_codes_come_first(
    wrong: int, typed: list[tuple[float, str]], *, never_right: bool
) -> None:
    send = replace(SEND, wrong_codes=wrong, never_right=never_right)

    assert list(entries(send, "0999")) == typed
