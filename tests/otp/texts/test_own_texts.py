"""A company's own texts are saved, changed and audited."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.utils.translation import override

from accounts.keys import api_keys
from accounts.models import Company, User
from otp.models import CodeText
from otp.texts import own_texts, rules
from tests.api.clients import Api
from tests.api.races import at_once
from tests.channels.message_stages import send
from tests.factories import CodeTextFactory, CompanyFactory, UserFactory
from tests.otp.sent_codes import code_of
from tests.otp.texts.test_sent_texts import PHONE, handed_over


@pytest.fixture
def user(db: None) -> User:
    return UserFactory.create()


def save(company: Company, user: User, body: str, **fields: Any) -> CodeText:
    text = CodeText(body=body, **{"locale": "ru"} | fields)
    own_texts.save(company=company, text=text, user=user)
    return text


def test_saved_text_is_in_force_at_once_here(api: Api, user: User) -> None:
    api.get("/balance")

    save(api.company, user, "{code} своё")
    api_keys.clear_cache()  # what the commit does: this test has none

    send(api, channel="sms")
    assert handed_over() == f"{code_of(PHONE)} своё"


@pytest.mark.parametrize(
    ("body", "channel", "text"),
    [
        ("no code", "", "Put {code}"),
        ("{code} " + "я" * 200, "sms", "takes 4 parts"),
        ("{code} " + "я" * 200, "", "takes 4 parts"),
    ],
)
def test_text_that_may_not_be_sent_is_not_saved(
    company: Company, user: User, body: str, channel: str, text: str
) -> None:
    with override("en"), pytest.raises(ValidationError, match=text):
        save(company, user, body, channel=channel)

    assert not company.code_texts.exists()
    assert not company.audit.exists()


def test_second_text_for_the_same_is_refused(company: Company, user: User) -> None:
    save(company, user, "{code}")
    save(company, user, "{code}", locale="en")
    other = save(company, user, "{code}", purpose="login")

    with pytest.raises(ValidationError):
        save(company, user, "{code} 2")
    other.purpose = ""
    with pytest.raises(ValidationError):
        own_texts.save(company=company, text=other, user=user)

    assert company.code_texts.count() == 3


def test_company_has_so_many_texts_at_most(company: Company, user: User) -> None:
    CodeTextFactory.create_batch(own_texts.MAX_TEXTS, company=company)

    with pytest.raises(ValidationError):
        save(company, user, "{code}")


def test_every_change_is_in_the_audit_log(company: Company, user: User) -> None:
    text = save(company, user, "{code}", purpose="login", channel="sms")
    own_texts.save(company=company, text=text, user=user)
    own_texts.delete(text=text, user=user)
    for _ in range(2):  # what changes nothing is nothing to tell of
        own_texts.set_autofill(company=company, webotp_host="example.com", app_hash="", user=user)
    own_texts.set_autofill(company=company, webotp_host="", app_hash="", user=user)

    audited = [(event.action, event.subject) for event in company.audit.order_by("id")]
    assert audited == [
        ("text.created", "login · SMS · ru"),
        ("text.changed", "login · SMS · ru"),
        ("text.deleted", "login · SMS · ru"),
        ("autofill.changed", "example.com"),
        ("autofill.changed", "—"),
    ]


def test_line_that_makes_a_text_too_long_is_refused(company: Company, user: User) -> None:
    save(company, user, "{code} " + "я" * 130, channel="sms")
    save(company, user, "{code} " + "я" * 300, channel="telegram")

    with override("en"), pytest.raises(ValidationError, match=r"The text “\{code\} я"):
        own_texts.set_autofill(
            company=company, webotp_host="a-rather-long-name.example.com", app_hash="", user=user
        )

    assert own_texts.of_company(company).webotp_host == ""


HOST = "a-rather-long-name.example.com"
LONG_TEXT = "{code} " + "я" * 130


def outcome(call: Callable[[], None]) -> str:
    try:
        call()
    except ValidationError:
        return "refused"
    return "saved"


def saving(company: Company, user: User, body: str) -> Callable[[], str]:
    text = CodeText(locale="ru", body=body)
    return partial(outcome, partial(own_texts.save, company=company, text=text, user=user))


@pytest.mark.django_db(transaction=True)
def test_parallel_equal_texts_save_one() -> None:
    company = CompanyFactory.create()
    user = UserFactory.create()

    result = at_once([saving(company, user, f"{{code}} {'я' * n}") for n in range(8)])

    assert sorted(result) == ["refused"] * 7 + ["saved"]
    assert company.code_texts.count() == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("round_number", range(3))
def test_text_and_line_together_never_grow_too_long(round_number: int) -> None:
    company = CompanyFactory.create()
    user = UserFactory.create()
    lining = partial(
        own_texts.set_autofill, company=company, webotp_host=HOST, app_hash="FA+9qCX9VSu", user=user
    )

    calls: list[Callable[[], str]] = [saving(company, user, LONG_TEXT), partial(outcome, lining)]

    result = at_once(calls)

    tail = own_texts.autofill_lines(own_texts.of_company(company))
    bodies = company.code_texts.values_list("body", flat=True)
    assert sorted(result) == ["refused", "saved"]
    assert [body for body in bodies if rules.max_segments(body, tail) > 3] == []
