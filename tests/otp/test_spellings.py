"""One person has one code, one cool-down and one count of guesses, in every spelling."""

import pytest

from billing.wallet import ledger
from channels.models import Message
from channels.phone_numbers import spellings
from otp.models import Verification
from tests.api.clients import Api, ClientOf
from tests.factories import CompanyFactory
from tests.otp.sent_codes import code_of, wrong_code

PHONE = "+79161234567"
RENUMBERED = ["+525512345678", "+5511987654321", "+5491123456789", "+84381234567", "+24166123456"]


@pytest.fixture
def api(client_of: ClientOf) -> Api:
    """A client of a company that sends abroad."""
    company = CompanyFactory.create(all_countries=True)
    ledger.grant(company=company, amount=1000, reason="test")
    return client_of(company)


@pytest.mark.parametrize("phone", RENUMBERED)
def test_code_sent_to_one_spelling_is_verified_in_any(api: Api, phone: str) -> None:
    old = spellings(phone)[1]

    sent = api.post("/otp/send", {"phone": old, "channel": "sms"})
    again = api.post("/otp/send", {"phone": phone, "channel": "sms"})
    wrong = api.post("/otp/verify", {"phone": old, "code": wrong_code(phone)})
    right = api.post("/otp/verify", {"phone": phone, "code": code_of(phone)})
    listed = api.get("/messages", {"phone": old})

    assert (sent.status, sent.body["phone"]) == (200, phone)
    assert again.code == "resend_too_soon"
    assert (wrong.code, wrong.body["attempts_left"]) == ("code_invalid", 4)
    assert right.status == 200
    assert Message.objects.get().phone == Verification.objects.get().phone == phone
    assert [row["id"] for row in listed.body["data"]] == [sent.body["id"]]


@pytest.mark.parametrize("written", ["\u200b{}{}\ufeff", "\u202a{}{}\u202c\n", "{}-{}"])
def test_code_with_marks_or_a_hyphen_is_read(api: Api, written: str) -> None:
    api.post("/otp/send", {"phone": PHONE})
    code = code_of(PHONE)

    response = api.post("/otp/verify", {"phone": PHONE, "code": written.format(code[:3], code[3:])})

    assert response.status == 200


@pytest.mark.parametrize("zero", ["٠", "０"])
def test_code_in_digits_of_another_script_is_accepted(api: Api, zero: str) -> None:
    api.post("/otp/send", {"phone": PHONE})
    code = "".join(chr(ord(zero) + int(digit)) for digit in code_of(PHONE))

    assert api.post("/otp/verify", {"phone": PHONE, "code": code}).status == 200


@pytest.mark.parametrize("code", ["", "123", "123456789", "12a456", "1,2345"])
def test_another_shape_burns_no_attempt(api: Api, code: str) -> None:
    api.post("/otp/send", {"phone": PHONE})

    response = api.post("/otp/verify", {"phone": PHONE, "code": code})

    assert (response.status, response.code, list(response.body["errors"])) == (
        422,
        "invalid_input",
        ["code"],
    )
    assert Verification.objects.get().attempts == 0


@pytest.mark.parametrize(
    "phone",
    [
        "\u202a+7 916 123‑45–67\u202c",
        "tel:+7-916-123-45-67;ext=5",
        "＋٧٩١٦١٢٣٤٥٦٧",
        "+7916/1234567\n",
    ],
)
def test_pasted_phone_is_the_number_wherever_it_is_read(api: Api, phone: str) -> None:
    sent = api.post("/otp/send", {"phone": phone})

    assert (sent.status, sent.body["phone"]) == (200, PHONE)
    assert len(api.get("/messages", {"phone": phone}).body["data"]) == 1
    assert api.get("/persons/export", {"phone": phone}).body["phone"] == PHONE
    assert api.post("/otp/verify", {"phone": phone, "code": code_of(PHONE)}).status == 200
