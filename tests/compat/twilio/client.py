"""A client of Twilio's API."""

from typing import Any

from accounts.models import Company, Mode
from compat.dialect import dialects
from compat.twilio.dialect import service_sid
from tests.api.clients import ApiResponse
from tests.compat.clients import DialectClient, client_key
from tests.otp.sent_codes import code_of, wrong_code

PHONE = "+79161234567"
DIALECT = dialects()["twilio"]


class Twilio(DialectClient):
    """A client of one service."""

    def __init__(self, company: Company, purpose: str = "login", mode: str = Mode.TEST) -> None:
        super().__init__(DIALECT, client_key(company, purpose, mode=mode).plaintext)
        self.mode = mode
        self.purpose = purpose
        self.service = f"/v2/Services/{service_sid(company.pk, mode, purpose)}"

    def create(self, **fields: Any) -> ApiResponse:
        sent = {"To": PHONE, "Channel": "sms"} | fields
        return self.form(f"{self.service}/Verifications", sent)

    def check(self, code: str, **fields: Any) -> ApiResponse:
        named = fields or {"To": PHONE}
        return self.form(f"{self.service}/VerificationCheck", {"Code": code} | named)

    def right(self) -> str:
        return code_of(PHONE, self.purpose, self.mode)

    def wrong(self) -> str:
        return wrong_code(PHONE, self.purpose, self.mode)

    def fetch(self, sid_or_number: str) -> ApiResponse:
        return self.get(f"{self.service}/Verifications/{sid_or_number}")

    def update(self, sid: str, status: str) -> ApiResponse:
        return self.form(f"{self.service}/Verifications/{sid}", {"Status": status})


def error_of(response: ApiResponse) -> tuple[int, int]:
    body = response.body
    assert body["status"] == response.status
    assert body["more_info"] == f"https://www.twilio.com/docs/errors/{body['code']}"
    assert body["message"]
    return response.status, body["code"]
