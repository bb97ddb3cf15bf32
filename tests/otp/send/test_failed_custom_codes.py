"""A custom code whose message failed or expired: a call after the cool-down sends it again."""

from functools import partial

import pytest
from django.utils import timezone

from channels.lifecycle.state_machine import EventKind
from channels.models import Attempt, Message
from otp.models import Verification
from tests.api.clients import Api
from tests.api.races import at_once
from tests.channels.message_stages import apply_event, claim
from tests.otp.send.custom_codes import CODE, outgoing, send
from tests.otp.sent_codes import age_rows

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("balanced_books"),
]


def failed(api: Api, outcome: EventKind = EventKind.REFUSED) -> str:
    message: str = send(api).body["id"]
    claim()
    attempt = Attempt.objects.get()
    apply_event(attempt, EventKind.ACCEPTED, provider_id="vendor-1")
    apply_event(attempt, outcome)
    return message


@pytest.mark.parametrize("outcome", [EventKind.REFUSED, EventKind.EXPIRED])
def test_failed_code_is_sent_again_after_the_cool_down(api: Api, outcome: EventKind) -> None:
    first = failed(api, outcome)
    repeated = send(api).body["id"]
    age_rows(seconds=61)

    again = [send(api) for _ in range(2)]

    assert repeated == first
    assert [response.status for response in again] == [200, 200]
    assert again[0].body["id"] == again[1].body["id"] != first
    assert outgoing().code == CODE
    assert Verification.objects.count() == 1


def test_failed_code_sent_again_at_once_is_one_message(api: Api) -> None:
    failed(api)
    age_rows(seconds=61)

    responses = at_once([partial(send, api)] * 4)

    assert {response.status for response in responses} == {200}
    assert Message.objects.count() == 2


def test_exhausted_code_is_sent_as_a_new_one_after_the_cool_down(api: Api) -> None:
    first = send(api).body
    Verification.objects.update(attempts=5)
    repeated = send(api).body
    age_rows(seconds=61)

    again = send(api).body

    assert (repeated["id"], repeated["attempts_left"]) == (first["id"], 0)
    assert (again["id"] == first["id"], again["attempts_left"]) == (False, 5)
    assert again["verification"] != first["verification"]


def test_entered_code_of_a_failed_message_is_not_sent_again(api: Api) -> None:
    """The receipt was wrong: the person has it."""
    first = failed(api)
    Verification.objects.update(verified_at=timezone.now())
    age_rows(seconds=61)

    assert send(api).body["id"] == first
    assert Message.objects.count() == 1
