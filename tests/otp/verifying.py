"""Sends a code and verifies it by the id of its verification."""

from typing import Any

from tests.api.clients import Api, ApiResponse
from tests.otp.sent_codes import forget_limits

PHONE = "+79161234567"


def sent(api: Api, phone: str = PHONE, **fields: Any) -> str:
    """The id of the verification of a new send."""
    forget_limits()
    response = api.post("/otp/send", {"phone": phone} | fields)
    assert response.status == 200, response.body
    return str(response.body["verification"])


def verify(api: Api, public_id: str, code: str, **fields: Any) -> ApiResponse:
    return api.post("/otp/verify", {"id": public_id, "code": code} | fields)
