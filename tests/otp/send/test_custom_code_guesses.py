"""Sends of a custom code, by which its holder could find the code that lives already."""

from datetime import timedelta
from functools import partial

import pytest
from django.db.models import F

from channels.models import Message
from storage.redis_client import redis_client
from tests.api.clients import Api, ApiResponse
from tests.api.races import at_once
from tests.channels.message_stages import PHONE
from tests.otp.send.custom_codes import CODE, send

pytestmark = pytest.mark.django_db(transaction=True)
GUESSES = {
    "within the pause": {},
    "too long for an SMS": {"channel": "sms", "text": "{code} " + "слово " * 60},
}


@pytest.mark.parametrize("fields", GUESSES.values(), ids=list(GUESSES))
def test_sends_guess_a_live_custom_code_no_oftener_than_checks(
    api: Api, fields: dict[str, str]
) -> None:
    """A repeat is answered and another code refused: who sends learns which one is right."""
    sent = send(api, channel="sms")

    guesses = [send(api, f"{1000 + n}", **fields) for n in range(10)]
    right = send(api, **fields)

    assert sent.status == 200
    assert {guess.status for guess in guesses} <= {422, 429}
    assert right.status == 429
    assert right.code == "too_many_attempts"


def test_idempotency_key_allows_no_extra_custom_code_guesses(api: Api) -> None:
    def keyed(code: str) -> ApiResponse:
        return api.post("/otp/send", {"phone": PHONE, "code": code}, Idempotency_Key="login-1")

    assert keyed(CODE).status == 200
    guesses = [keyed(f"{1000 + n}") for n in range(10)]

    right = keyed(CODE)
    assert {guess.code for guess in guesses} == {"idempotency_mismatch"}
    assert right.status == 429
    assert right.code == "too_many_attempts"


def test_guesses_at_once_are_limited_too(api: Api) -> None:
    assert send(api).status == 200

    guesses = at_once([partial(send, api, f"{1000 + n}") for n in range(16)])

    right = send(api)
    assert right.status == 429
    assert right.code == "too_many_attempts"
    assert {guess.status for guess in guesses} == {429}


def test_without_redis_sends_guess_no_more_often(api: Api, no_redis: None) -> None:
    assert {send(api).status for _ in range(12)} == {200}

    guesses = at_once([partial(send, api, f"{1000 + n}") for n in range(16)])

    right = send(api)
    assert {guess.status for guess in guesses} == {429}
    assert right.status == 429
    assert right.code == "too_many_attempts"


def test_repeats_are_not_guesses(api: Api) -> None:
    assert {send(api).status for _ in range(25)} == {200}


@pytest.mark.parametrize("key", [{}, {"Idempotency_Key": "login-2"}], ids=["no key", "key"])
def test_wrong_guesses_do_not_prevent_the_next_code(
    api: Api, store: str, key: dict[str, str]
) -> None:
    """A stranger who presses the button on and on must not lock the person out of codes."""
    send(api)
    for n in range(10):
        send(api, f"{1000 + n}")
    locked = send(api, "7777")
    end_pause(store)

    sent = api.post("/otp/send", {"phone": PHONE, "code": "7777"}, **key)

    assert (locked.code, sent.status) == ("too_many_attempts", 200)
    assert int(locked.headers["Retry-After"]) <= 60
    assert api.post("/otp/verify", {"phone": PHONE, "code": "7777"}).status == 200


def test_past_the_limit_no_code_is_compared(api: Api, store: str) -> None:
    def keyed(code: str) -> ApiResponse:
        return api.post("/otp/send", {"phone": PHONE, "code": code}, Idempotency_Key="login-1")

    first = keyed(CODE)
    for n in range(10):
        send(api, f"{1000 + n}")
    end_pause(store)

    replays = [keyed(CODE), keyed("7777")]
    again = send(api)
    in_the_pause = send(api)

    assert {replay.code for replay in replays} == {"too_many_attempts"}
    assert again.status == 200
    assert again.body["id"] != first.body["id"]
    assert in_the_pause.code == "too_many_attempts"


def end_pause(store: str) -> None:
    if store == "postgres":
        Message.objects.update(created_at=F("created_at") - timedelta(seconds=61))
        return
    client = redis_client()
    for key in client.scan_iter(match="cool:*"):
        client.delete(key)
