"""Guesses that share a statement: each is judged as it is alone."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from django.db import transaction

from billing.wallet import ledger
from otp import codes
from otp.check import check
from otp.models import Verification
from storage.statements.json_rows import Numbered
from tests.api.blocking import waiting
from tests.api.clients import Api, ApiResponse, ClientOf
from tests.api.groups import in_one_group
from tests.factories import CompanyFactory
from tests.otp.sent_codes import code_of, verification_of, wrong_code
from tests.sql import execute
from tests.stack.programs import wait_until

pytestmark = pytest.mark.django_db(transaction=True)


def phone(number: int) -> str:
    return f"+7916{number:07d}"


def together(api: Api, *guesses: tuple[str, str]) -> list[ApiResponse]:
    calls = [partial(api.post, "/otp/verify", {"phone": to, "code": code}) for to, code in guesses]
    return in_one_group(check._guesses, calls)


def outcomes(responses: list[ApiResponse]) -> list[str]:
    return ["ok" if response.status == 200 else response.code for response in responses]


@pytest.fixture
def phones(api: Api) -> list[str]:
    result = [phone(number) for number in range(4)]
    for to in result:
        api.post("/otp/send", {"phone": to})
    return result


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> list[check._Guess]:
    """The guesses that ran alone."""
    result: list[check._Guess] = []
    check_alone = check._guesses._alone

    def note(guess: check._Guess) -> Numbered | None:
        result.append(guess)
        return check_alone(guess)

    monkeypatch.setattr(check._guesses, "_alone", note)
    return result


def test_each_guess_has_its_own_result(
    api: Api, phones: list[str], alone: list[check._Guess]
) -> None:
    one, two, three, _four = phones

    responses = together(api, (one, code_of(one)), (two, wrong_code(two)), (three, code_of(three)))

    assert outcomes(responses) == ["ok", "code_invalid", "ok"]
    assert responses[0].body["phone"] == one
    assert responses[1].body["attempts_left"] == 4
    assert alone == []


def test_guess_at_a_dead_code_has_its_own_error(api: Api, phones: list[str]) -> None:
    one, two, three, _four = phones
    api.post("/otp/verify", {"phone": two, "code": code_of(two)})
    used = Verification.objects.get(phone=two)
    Verification.objects.filter(phone=three).update(attempts=5)

    responses = together(
        api, (one, code_of(one)), (two, "123456"), (three, "123456"), (phone(9), "123456")
    )

    assert outcomes(responses) == ["ok", "code_used", "too_many_attempts", "code_not_found"]
    used.refresh_from_db()
    assert used.attempts == 1


def test_guesses_at_one_code_share_no_attempt(api: Api, phones: list[str]) -> None:
    to = phones[0]
    responses = together(api, *[(to, wrong_code(to))] * 8)

    assert Counter(outcomes(responses)) == {"code_invalid": 5, "too_many_attempts": 3}
    left = [
        response.body["attempts_left"] for response in responses if response.code == "code_invalid"
    ]
    assert sorted(left) == [0, 1, 2, 3, 4]
    assert verification_of(to).attempts == 5


def test_one_of_two_correct_guesses_is_accepted(api: Api, phones: list[str]) -> None:
    to = phones[0]

    responses = together(api, (to, code_of(to)), (to, code_of(to)))

    assert sorted(outcomes(responses)) == ["code_used", "ok"]
    assert verification_of(to).attempts == 1


def test_codes_of_two_companies_for_one_phone_are_separate(
    api: Api, client_of: ClientOf, phones: list[str]
) -> None:
    company = CompanyFactory.create()
    ledger.grant(company=company, amount=10, reason="test")
    other = client_of(company)
    other.post("/otp/send", {"phone": phones[0]})
    ours = Verification.objects.get(phone=phones[0], company=api.company)
    theirs = Verification.objects.get(phone=phones[0], company=company)
    result = [
        codes.derive(verification.id, key_id=verification.key_id, length=verification.length)
        for verification in (ours, theirs)
    ]
    calls = [
        partial(client.post, "/otp/verify", {"phone": phones[0], "code": code})
        for client, code in zip((api, other, api), (result[1], result[1], result[0]), strict=True)
    ]

    responses = in_one_group(check._guesses, calls)

    assert outcomes(responses)[1:] == ["ok", "ok"]
    assert outcomes(responses)[0] in {"code_invalid", "code_used"}


@pytest.mark.parametrize(
    "lock",
    [
        "SELECT id FROM otp_verification WHERE phone = %(phone)s FOR UPDATE",
        "SELECT pg_advisory_xact_lock(hashtextextended("
        "'guess:' || company_id || ':live:' || phone, 0)) FROM otp_verification"
        " WHERE phone = %(phone)s",
    ],
)
def test_waiting_guess_does_not_block_others(api: Api, phones: list[str], lock: str) -> None:
    with ThreadPoolExecutor(1) as pool, transaction.atomic():
        guesses = [(to, code_of(to)) for to in phones]
        execute(lock, {"phone": phones[0]})
        responses = pool.submit(together, api, *guesses)
        verified = Verification.objects.filter(verified_at__isnull=False)
        wait_until(lambda: verified.count() == 3 and len(waiting()) == 1, 2.5)
        transaction.set_rollback(True)

    assert outcomes(responses.result(20)) == ["ok"] * 4
