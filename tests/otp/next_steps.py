"""Calls of POST /otp/{id}/next."""

import time

from tests.api.clients import Answer, Api
from tests.channels.message_stages import PHONE


def sent(api: Api, **fields: object) -> str:
    answer = api.post("/otp/send", {"phone": PHONE} | fields)
    assert answer.status == 200, answer.body
    return str(answer.body["verification"])


def step(api: Api, verification: str, **headers: str) -> Answer:
    """Calls in a later millisecond than the calls before: in the same one they may overlap."""
    time.sleep(0.001)
    return api.post(f"/otp/{verification}/next", {}, **headers)


def outcome(answer: Answer) -> str:
    return str(answer.body["channel"]) if answer.status == 200 else answer.code
