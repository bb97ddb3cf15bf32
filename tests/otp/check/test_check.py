"""Checking a code: which code verifies a phone, and which attempts are counted."""

from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from accounts.models import Company
from billing.wallet import ledger
from otp.models import Verification
from tests.api.clients import Api, ApiResponse, ClientOf
from tests.factories import CompanyFactory
from tests.otp.sent_codes import age_rows, code_of, verification_of, wrong_code

PHONE = "+79161234567"


def check(api: Api, code: str, **fields: object) -> ApiResponse:
    return api.post("/otp/verify", {"phone": PHONE, "code": code} | fields)


@pytest.fixture
def code(api: Api) -> str:
    """The code that was just sent."""
    assert api.post("/otp/send", {"phone": PHONE}).status == 200
    return code_of(PHONE)


@pytest.fixture
def wrong(code: str) -> str:
    return wrong_code(PHONE)


def test_correct_code_verifies_the_phone(api: Api, code: str) -> None:
    response = check(api, code)

    verification = Verification.objects.get()
    assert verification.verified_at is not None
    assert response.status == 200
    assert response.body == {
        "success": True,
        "message": "Номер подтверждён",
        "id": verification.public_id,
        "phone": PHONE,
        "verified_at": verification.verified_at.strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
    }
    assert abs(timezone.now() - verification.verified_at) < timedelta(minutes=1)


def test_after_five_wrong_codes_the_right_one_is_refused_too(
    api: Api, code: str, wrong: str
) -> None:
    responses = [check(api, wrong) for _ in range(5)]
    right = check(api, code)
    again = check(api, wrong)

    assert [response.code for response in responses] == ["code_invalid"] * 5
    assert [response.body["attempts_left"] for response in responses] == [4, 3, 2, 1, 0]
    assert (right.status, right.code) == (429, "too_many_attempts")
    assert right.headers["Retry-After"] == str(right.body["retry_after"])
    assert right.body | {"request_id": ""} == again.body | {"request_id": ""}
    assert verification_of(PHONE).verified_at is None


def test_correct_code_is_accepted_on_the_fifth_try(api: Api, code: str, wrong: str) -> None:
    for _ in range(4):
        check(api, wrong)

    assert check(api, code).status == 200


@pytest.mark.parametrize("guesses", ["1234", "00000000"])
def test_code_of_another_length_spends_an_attempt(api: Api, code: str, guesses: str) -> None:
    response = check(api, guesses)

    assert (response.code, response.body["attempts_left"]) == ("code_invalid", 4)


def both(api: Api, code: str, wrong: str) -> set[tuple[int, str]]:
    return {(response.status, response.code) for response in (check(api, code), check(api, wrong))}


def test_code_is_right_until_its_last_second(api: Api, code: str) -> None:
    age_rows(seconds=298)

    assert check(api, code).status == 200


@pytest.mark.parametrize(
    ("how", "seconds", "answered", "attempts"),
    [
        ("used", 0, (422, "code_used"), 1),
        ("used", 3600, (422, "code_used"), 1),
        ("sent", 301, (422, "code_expired"), 0),
        ("exhausted", 0, (429, "too_many_attempts"), 5),
        ("exhausted", 301, (422, "code_expired"), 5),
    ],
)
def test_ended_code_answers_right_and_wrong_guesses_alike(
    api: Api,
    *,
    code: str,
    wrong: str,
    how: str,
    seconds: int,
    answered: tuple[int, str],
    attempts: int,
) -> None:
    for guess in {"used": [code], "sent": [], "exhausted": [wrong] * 5}[how]:
        check(api, guess)
    age_rows(seconds=seconds)

    assert both(api, code, wrong) == {answered}
    assert verification_of(PHONE).attempts == attempts


def test_unknown_phone_has_no_code(api: Api, db: None) -> None:
    assert both(api, "123456", "654321") == {(422, "code_not_found")}


def test_code_is_bound_to_company_mode_phone_and_purpose(
    api: Api, test_api: Api, client_of: ClientOf, code: str
) -> None:
    stranger = client_of(CompanyFactory.create())

    refused = [
        check(api, code, purpose="login"),
        check(api, code, purpose="Verification"),
        check(api, code, phone="+79161234568"),
        check(test_api, code),
        check(stranger, code),
    ]

    assert [response.code for response in refused] == ["code_not_found"] * 5
    assert verification_of(PHONE).attempts == 0
    assert check(api, code).status == 200


@pytest.mark.parametrize("field", ["company", "mode", "phone", "purpose"])
def test_row_moved_to_another_company_or_phone_fails_its_mac(
    api: Api, test_api: Api, client_of: ClientOf, code: str, field: str
) -> None:
    """A stored code is bound by its MAC: a person who can write rows still cannot forge one."""
    stranger = client_of(CompanyFactory.create())
    ledger.grant(company=stranger.company, amount=5, reason="test")
    moved: dict[str, tuple[Api, dict[str, object], dict[str, object]]] = {
        "company": (stranger, {"company": stranger.company}, {}),
        "mode": (test_api, {"mode": "test"}, {}),
        "phone": (api, {"phone": "+79161234568"}, {"phone": "+79161234568"}),
        "purpose": (api, {"purpose": "other"}, {"purpose": "other"}),
    }
    client, changes, request = moved[field]
    Verification.objects.update(**changes)

    assert check(client, code, **request).code == "code_invalid"


def test_whole_company_shares_its_codes(api: Api, client_of: ClientOf, code: str) -> None:
    assert check(client_of(api.company), code).status == 200


def test_ten_refused_verifies_are_answered_and_more_are_not(api: Api) -> None:
    responses = [check(api, "123456", purpose=f"p{number}") for number in range(12)]

    assert [response.code for response in responses] == ["code_not_found"] * 10 + [
        "too_many_attempts"
    ] * 2
    assert 1 <= responses[-1].body["retry_after"] <= 600
    assert (
        api.post("/otp/verify", {"phone": "+79161234568", "code": "1234"}).code == "code_not_found"
    )


def test_too_many_refusals_do_not_shut_out_a_live_code(api: Api) -> None:
    for _ in range(12):
        check(api, "123456")
    api.post("/otp/send", {"phone": PHONE})

    assert check(api, wrong_code(PHONE)).code == "code_invalid"
    assert check(api, code_of(PHONE)).status == 200


def test_checked_codes_do_not_count_as_refused(api: Api, code: str, wrong: str) -> None:
    for _ in range(5):
        check(api, wrong)
    for _ in range(20):
        assert check(api, wrong).code == "too_many_attempts"
    age_rows(seconds=301)

    assert check(api, code).code == "code_expired"


def test_refused_verifies_without_redis_are_answered(api: Api, no_redis: None) -> None:
    codes = {check(api, "123456").code for _ in range(15)}

    assert codes == {"code_not_found"}


def test_verify_uses_one_statement(
    api: Api, code: str, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(1):
        assert check(api, code).status == 200


def test_refused_verify_uses_at_most_two_statements(
    api: Api, wrong: str, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(1):
        assert check(api, wrong).code == "code_invalid"
    with django_assert_num_queries(2):
        assert check(api, wrong, purpose="other").code == "code_not_found"


def test_verify_works_without_tokens(api: Api, code: str) -> None:
    ledger.withdraw(company=api.company, amount=999, reason="test")

    assert check(api, code).status == 200


def test_leading_eight_follows_the_company_country(api: Api) -> None:
    Company.objects.update(country="VN")

    assert api.post("/otp/send", {"phone": "84912345678"}).status == 200

    assert Verification.objects.get().phone == "+84912345678"
