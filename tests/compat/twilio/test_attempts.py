"""Twilio's attempts, and their summary."""

import pytest

from accounts.models import Company, Mode
from tests.compat.twilio.client import PHONE, Twilio, error_of
from tests.otp.sent_codes import age_rows


@pytest.fixture
def twilio(company: Company) -> Twilio:
    return Twilio(company)


def test_attempts_of_a_verification(twilio: Twilio) -> None:
    created = twilio.create().body
    twilio.check(twilio.right())

    response = twilio.get(f"/v2/Attempts?VerificationSid={created['sid']}")
    (attempt,) = response.body["attempts"]
    alone = twilio.get(f"/v2/Attempts/{attempt['sid']}")

    assert (response.status, response.body["meta"]["key"]) == (200, "attempts")
    assert alone.body == attempt
    assert attempt["sid"] == created["send_code_attempts"][0]["attempt_sid"]
    assert attempt["verification_sid"] == created["sid"]
    assert attempt["service_sid"] == created["service_sid"]
    assert attempt["conversion_status"] == "converted"
    assert attempt["channel_data"]["to"] == PHONE


def test_attempts_are_filtered(twilio: Twilio) -> None:
    sid = twilio.create().body["sid"]
    service = twilio.service.rsplit("/", 1)[1]
    number = PHONE.replace("+", "%2B")

    def count(query: str) -> int:
        return len(twilio.get(f"/v2/Attempts?{query}").body["attempts"])

    assert count(f"ChannelData.To={number}") == 1
    assert count(f"VerificationSid={sid}&VerifyServiceSid={service}&Channel=sms") == 1
    assert count(f"VerificationSid={sid}&Channel=whatsapp") == 0
    assert count(f"VerificationSid={sid}&Status=converted") == 0
    assert count(f"VerificationSid={sid}&VerifyServiceSid=VA{'0' * 32}") == 0


def test_number_without_a_code_to_enter_has_no_attempts(twilio: Twilio) -> None:
    twilio.update(twilio.create().body["sid"], "canceled")

    for number in (PHONE, "+79161234568"):
        response = twilio.get(f"/v2/Attempts?ChannelData.To={number.replace('+', '%2B')}")
        assert (response.status, response.body["attempts"]) == (200, [])


def test_key_lists_no_history(twilio: Twilio, company: Company) -> None:
    created = twilio.create().body
    other = Twilio(company, "payment")

    assert error_of(twilio.get("/v2/Attempts")) == (403, 20003)
    attempt = created["send_code_attempts"][0]["attempt_sid"]
    of_other = [f"/v2/Attempts/{attempt}", f"/v2/Attempts?VerificationSid={created['sid']}"]
    hidden = [other.get(path) for path in of_other]
    assert [response.status for response in hidden] == [404, 404]
    assert [error_of(response) for response in hidden] == [(404, 20404)] * 2
    assert error_of(twilio.get("/v2/Attempts/VLx")) == (404, 20404)
    assert error_of(twilio.get(f"/v2/Attempts/VL{'0' * 32}")) == (404, 20404)


def test_summary_counts_codes_of_the_purpose(twilio: Twilio, company: Company) -> None:
    Twilio(company, "payment").create()
    twilio.create()
    twilio.check(twilio.right())
    twilio.create(To="+79161234568")

    response = twilio.get("/v2/Attempts/Summary")

    assert response.status == 200
    assert response.body["total_attempts"] == 2
    assert response.body["total_converted"] == 1
    assert response.body["total_unconverted"] == 1
    assert response.body["conversion_rate_percentage"] == "50.00"


@pytest.mark.parametrize(
    "query",
    [
        "Country=RU",
        "DestinationPrefix=7",
        "Channel=sms",
        "DateCreatedAfter=x",
        "DateCreatedAfter=0001-01-01",
        "DateCreatedAfter=2026-01-02&DateCreatedBefore=2026-01-01",
    ],
)
def test_summary_refuses_what_is_not_counted(twilio: Twilio, query: str) -> None:
    assert error_of(twilio.get(f"/v2/Attempts/Summary?{query}"))[0] == 400


def test_custom_code_repeated_after_cool_down_is_second_attempt(
    company: Company,
) -> None:
    twilio = Twilio(company, mode=Mode.LIVE)
    responses = [twilio.create(CustomCode="482100") for _ in range(2)]
    age_rows(seconds=65)

    responses += [twilio.create(CustomCode="482100") for _ in range(2)]

    assert {response.status for response in responses} == {201}
    assert len({response.body["sid"] for response in responses}) == 1
    attempts = [len(response.body["send_code_attempts"]) for response in responses]
    assert attempts == [1, 1, 2, 2]
