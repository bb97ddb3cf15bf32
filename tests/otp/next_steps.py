"""Calls of POST /otp/{id}/next."""

import time

from tests.api.clients import Api, ApiResponse
from tests.channels.message_stages import PHONE


def sent(api: Api, **fields: object) -> str:
    response = api.post("/otp/send", {"phone": PHONE} | fields)
    assert response.status == 200, response.body
    return str(response.body["verification"])


def step(api: Api, verification: str, **headers: str) -> ApiResponse:
    """Calls in a later millisecond than the calls before: in the same one they may overlap."""
    time.sleep(0.001)
    return api.post(f"/otp/{verification}/next", {}, **headers)


def outcome(response: ApiResponse) -> str:
    return str(response.body["channel"]) if response.status == 200 else response.code
