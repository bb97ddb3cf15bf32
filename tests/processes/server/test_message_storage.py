"""What waits to be shown has bounds, whatever is posted and however often."""

import pytest
from django.contrib.sessions.models import Session
from django.test import Client
from django.urls import reverse

from accounts.models import Member
from config.middleware import LONGEST, MOST

pytestmark = pytest.mark.django_db


def test_messages_that_nobody_reads_stay_few_and_short(client: Client, owner: Member) -> None:
    form = {"kind": "x" * 100_000, "level": "1"}
    for _ in range(MOST + 10):
        client.post(reverse("balance-alert-add"), form)

    held = sum(len(one.session_data) for one in Session.objects.all())
    page = client.get(reverse("balance")).content.decode()

    assert held < 2 * MOST * LONGEST
    assert MOST // 2 <= page.count("x" * (LONGEST // 2)) <= MOST
