from collections.abc import Callable
from functools import partial

import pytest
from django.core.exceptions import ValidationError

from accounts.models import Company, User
from otp.models import CodeText
from otp.texts import own_texts, rendering, rules
from tests.api.races import at_once
from tests.factories import CompanyFactory, UserFactory

pytestmark = pytest.mark.django_db(transaction=True)

HOST = "a-rather-long-name.example.com"
LONG = "{code} " + "я" * 130


def outcome(call: Callable[[], None]) -> str:
    try:
        call()
    except ValidationError:
        return "refused"
    return "saved"


def saving(company: Company, user: User, body: str) -> Callable[[], str]:
    text = CodeText(locale="ru", body=body)
    return partial(outcome, partial(own_texts.save, company=company, text=text, user=user))


def test_of_equal_texts_one_is_saved() -> None:
    company, user = CompanyFactory.create(), UserFactory.create()

    result = at_once([saving(company, user, f"{{code}} {'я' * n}") for n in range(8)])

    assert sorted(result) == ["refused"] * 7 + ["saved"]
    assert company.code_texts.count() == 1


@pytest.mark.parametrize("round_number", range(3))
def test_text_and_line_together_never_grow_too_long(round_number: int) -> None:
    company, user = CompanyFactory.create(), UserFactory.create()
    lining = partial(
        own_texts.set_autofill, company=company, webotp_host=HOST, app_hash="FA+9qCX9VSu", user=user
    )

    calls: list[Callable[[], str]] = [saving(company, user, LONG), partial(outcome, lining)]

    result = at_once(calls)

    tail = rendering.autofill_lines(own_texts.of_company(company))
    bodies = company.code_texts.values_list("body", flat=True)
    assert sorted(result) == ["refused", "saved"]
    assert [body for body in bodies if rules.max_segments(body, tail) > 3] == []
