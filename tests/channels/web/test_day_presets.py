"""Days of the list of messages: presets, and own dates in a fold."""

import re
from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Member

OWN_DATES = re.compile(r'<details class="more filters-more" (open)?>\s*<summary>Свои даты')


@pytest.mark.parametrize(
    ("days", "is_open"),
    [((None, None), False), ((0, 0), False), ((-6, 0), False), ((-5, 0), True), ((-5, None), True)],
)
def test_own_dates_are_open_while_no_preset_is_shown(
    client: Client, owner: Member, days: tuple[int | None, int | None], *, is_open: bool
) -> None:
    today = timezone.localdate()
    query = {
        name: str(today + timedelta(days=n))
        for name, n in zip(("date_from", "date_to"), days, strict=True)
        if n is not None
    }

    response = client.get(reverse("message-list"), query)

    folds = OWN_DATES.findall(response.content.decode())
    assert folds == ["open" if is_open else ""]
    assert sum(preset.is_chosen for preset in response.context["presets"]) == (not is_open)
