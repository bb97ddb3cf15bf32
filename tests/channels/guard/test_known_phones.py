"""When a phone that entered codes before is known, and when its misses count."""

import pytest

from channels.guard.scope_evidence import PhoneHistory
from channels.routing.smart.decay import DAY, HOUR

NOW = 100 * DAY


def history(*, entered: list[float], sent: list[float]) -> PhoneHistory:
    """Moments are so long before `NOW`."""
    phone_history = PhoneHistory()
    for ago in sent:
        phone_history.was_sent(NOW - ago)
    for ago in entered:
        phone_history.was_entered(NOW - ago)
    return phone_history


@pytest.mark.parametrize(
    ("entered", "sent", "is_known"),
    [
        ([], [], False),
        ([DAY], [DAY + 60], False),
        ([DAY + 1], [DAY + 60], True),
        # three a day, even if each of them is entered
        ([2 * DAY, 3 * HOUR], [3 * HOUR, 2 * HOUR], True),
        ([2 * DAY, HOUR], [3 * HOUR, 2 * HOUR, HOUR], False),
        # three since the newest right one, however slowly
        ([9 * DAY], [6 * DAY, 4 * DAY], True),
        ([9 * DAY], [6 * DAY, 4 * DAY, 2 * DAY], False),
        ([9 * DAY, 3 * DAY], [6 * DAY, 4 * DAY, 2 * DAY], True),
    ],
)
def test_phone_is_known_by_its_codes(
    entered: list[float], sent: list[float], *, is_known: bool
) -> None:
    assert history(entered=entered, sent=sent).is_known(NOW) is is_known


@pytest.mark.parametrize(
    ("entered", "sends", "is_counted"),
    [
        ([], 3, True), ([], 4, False), ([2 * DAY], 6, True), ([2 * DAY], 7, False),
        ([HOUR], 4, False),
    ],
)  # fmt: skip
def test_misses_of_many_codes_to_one_phone_do_not_count(
    entered: list[float], sends: int, *, is_counted: bool
) -> None:
    sent = [11 * HOUR - 60.0 * n for n in range(sends)]

    assert history(entered=entered, sent=[13 * HOUR, *sent]).is_counted(NOW) is is_counted
