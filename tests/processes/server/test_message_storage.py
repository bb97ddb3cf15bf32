"""Messages that wait to be shown have bounds, whatever is posted and however often."""

import pytest
from django.contrib.sessions.models import Session
from django.test import Client
from django.urls import reverse

from accounts.models import Member
from config.middleware import MAX_MESSAGE_LENGTH, MAX_MESSAGES

pytestmark = pytest.mark.django_db


def test_unread_messages_stay_few_and_short(client: Client, owner: Member) -> None:
    form = {"kind": "x" * 100_000, "level": "1"}
    for _ in range(MAX_MESSAGES + 10):
        client.post(reverse("balance-alert-add"), form)

    held = sum(len(session.session_data) for session in Session.objects.all())
    page = client.get(reverse("balance")).content.decode()

    assert held < 2 * MAX_MESSAGES * MAX_MESSAGE_LENGTH
    assert MAX_MESSAGES // 2 <= page.count("x" * (MAX_MESSAGE_LENGTH // 2)) <= MAX_MESSAGES
