"""Which of a company's texts is sent; a message keeps the text it was accepted with."""

import pytest
from pytest_django import DjangoAssertNumQueries

from accounts.keys import api_keys
from accounts.models import Company
from channels.deliver import dispatcher
from channels.models import Message
from channels.providers.gsm import count_segments
from links.models import Link
from otp.models import Autofill, CodeText
from tests.api.clients import Api
from tests.channels.message_stages import claim, send
from tests.factories import CodeTextFactory
from tests.otp.sent_codes import age_rows, code_of

PHONE = "+79161234567"


def write(company: Company, body: str, **fields: str) -> CodeText:
    api_keys.clear_cache()
    return CodeTextFactory.create(company=company, body=body, **{"purpose": ""} | fields)


def handed_over() -> str:
    """The text of the one message that is due, as its provider gets it."""
    (claimed,) = claim()
    return dispatcher.outgoing(claimed).text


@pytest.mark.parametrize(
    ("request_fields", "expected"),
    [
        ({"purpose": "login", "channel": "sms"}, "вход по SMS"),
        ({"purpose": "login", "channel": "telegram"}, "вход"),
        ({"purpose": "pay", "channel": "sms"}, "SMS"),
        ({"purpose": "pay", "channel": "telegram"}, "общий"),
        ({"purpose": "Login", "channel": "sms"}, "SMS"),
        ({"channel": "sms", "locale": "en"}, "English"),
        ({"purpose": "login", "channel": "sms", "locale": "en"}, "English"),
    ],
    ids=str,
)
def test_most_specific_text_is_sent(
    api: Api, request_fields: dict[str, str], expected: str
) -> None:
    write(api.company, "{code} общий")
    write(api.company, "{code} SMS", channel="sms")
    write(api.company, "{code} вход", purpose="login")
    write(api.company, "{code} вход по SMS", purpose="login", channel="sms")
    write(api.company, "{code} English", locale="en")

    send(api, **request_fields)

    assert handed_over()[6:].strip() == expected


def test_without_a_fitting_text_the_standard_words_are_sent(api: Api) -> None:
    write(api.company, "{code} other", locale="en")
    write(api.company, "{code} другое", purpose="other")

    send(api, channel="sms")

    assert handed_over() == f"Код {code_of(PHONE)}. Никому его не сообщайте. Ромашка"


def test_whatsapp_keeps_its_template(api: Api) -> None:
    write(api.company, "{code} своё")

    message = send(api, channel="whatsapp")

    assert "texts" not in message.params
    assert handed_over() == f"{code_of(PHONE)} — ваш код подтверждения."


def test_texts_of_others_are_theirs(api: Api) -> None:
    CodeTextFactory.create(body="{code} чужое", purpose="")

    send(api, channel="sms")

    assert handed_over().startswith("Код ")


def test_variables_are_filled_in(api: Api) -> None:
    write(api.company, "{brand}: {code}, {minutes} мин.\nВойти: {link}\nДо встречи")

    send(api, channel="sms", link="https://example.com/")

    short_url = Link.objects.get().short_url
    code = code_of(PHONE)
    assert handed_over() == f"Ромашка: {code}, 5 мин.\nВойти: {short_url}\nДо встречи"


def test_line_with_the_link_goes_with_the_link(api: Api) -> None:
    write(api.company, "{code}\nВойти: {link}\nДо встречи")

    send(api, channel="telegram")

    assert handed_over() == f"{code_of(PHONE)}\nДо встречи"


def test_resend_says_how_long_the_code_still_lives(api: Api) -> None:
    write(api.company, "{code} {minutes}")
    send(api, channel="sms")
    handed_over()
    age_rows(seconds=110)  # 190 are left

    send(api, channel="sms")

    assert handed_over() == f"{code_of(PHONE)} 3"


@pytest.mark.parametrize("change", ["edit", "delete"])
def test_message_keeps_the_text_it_was_accepted_with(api: Api, change: str) -> None:
    text = write(api.company, "{code} раньше")
    message = send(api, channel="sms")

    if change == "edit":
        CodeText.objects.filter(pk=text.pk).update(body="{code} " + "позже " * 30)
    else:
        text.delete()
    api_keys.clear_cache()

    sent = handed_over()
    assert sent == f"{code_of(PHONE)} раньше"
    assert (message.segments, count_segments(sent).segments) == (1, 1)


def test_resend_is_counted_in_the_words_it_is_sent_in(api: Api) -> None:
    text = write(api.company, "{code} раньше")
    first = send(api, channel="sms")
    handed_over()
    age_rows(seconds=61)
    CodeText.objects.filter(pk=text.pk).update(body="{code} " + "я" * 100)
    api_keys.clear_cache()

    second = send(api, channel="sms")

    assert (first.segments, second.segments) == (1, 2)
    assert count_segments(handed_over()).segments == 2


@pytest.mark.parametrize("link", [{}, {"link": "https://example.com/"}], ids=["code", "link"])
@pytest.mark.parametrize(
    "body", ["{code} " + "x" * 145, "{code} {brand}" + " " + "x" * 50, "x’" * 60 + " {code}"]
)
def test_parts_are_counted_in_what_is_sent(api: Api, body: str, link: dict[str, str]) -> None:
    Autofill.objects.create(company=api.company, webotp_host="example.com", app_hash="FA+9qCX9VSu")
    write(api.company, body)

    message = send(api, channel="sms", **link)

    assert message.segments == count_segments(handed_over()).segments


def test_last_lines_of_an_sms_are_for_programs(api: Api) -> None:
    Autofill.objects.create(company=api.company, webotp_host="example.com", app_hash="FA+9qCX9VSu")
    write(api.company, "{code} — код")

    send(api, channel="sms", link="https://example.com/")

    code = code_of(PHONE)
    short_url = Link.objects.get().short_url
    assert handed_over().split("\n") == [
        f"{code} — код",
        short_url,
        "FA+9qCX9VSu",
        f"@example.com #{code}",
    ]


def test_telegram_text_has_no_autofill_lines(api: Api) -> None:
    Autofill.objects.create(company=api.company, webotp_host="example.com", app_hash="FA+9qCX9VSu")

    send(api, channel="telegram")

    assert handed_over() == f"Код {code_of(PHONE)}. Никому его не сообщайте. Ромашка"


def test_message_that_may_go_on_has_words_for_each_channel(test_api: Api) -> None:
    write(test_api.company, "{code} SMS", channel="sms")
    write(test_api.company, "{code} Telegram", channel="telegram")

    message = send(test_api, "+79161230009", channel="whatsapp")

    own = {"sms": "{code} SMS", "telegram": "{code} Telegram"}
    usual = "Код {code}. Никому его не сообщайте. {brand}"
    assert message.params["texts"] == own | {"max": usual}
    text = f"{code_of('+79161230009', mode='test')} — ваш код подтверждения."
    assert handed_over() == text  # the first try is by WhatsApp
    assert test_api.get("/test/messages").body["data"][0]["text"] == text


def test_test_phone_shows_what_would_have_been_sent(test_api: Api) -> None:
    Autofill.objects.create(company=test_api.company, webotp_host="example.com")
    write(test_api.company, "{code} — код")

    send(test_api, channel="sms")

    code = code_of(PHONE, mode="test")
    (shown,) = test_api.get("/test/messages").body["data"]
    assert shown["text"] == f"{code} — код\n@example.com #{code}" == handed_over()


def test_brand_is_never_read_as_a_variable(api: Api) -> None:
    Company.objects.update(brand="{code} {link}")
    write(api.company, "{brand}: {code}")

    send(api, channel="sms")

    assert handed_over() == f"{{code}} {{link}}: {code_of(PHONE)}"


def test_message_holds_no_code(api: Api) -> None:
    Autofill.objects.create(company=api.company, webotp_host="example.com")
    write(api.company, "{code}")

    message = send(api, channel="sms")

    assert code_of(PHONE) not in str(Message.objects.values().get(pk=message.pk))


def test_own_texts_cost_the_request_no_query(
    api: Api, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    write(api.company, "{code}")
    with django_assert_num_queries(1 + 1):  # the key with its texts, and the balance
        api.get("/balance")

    with django_assert_num_queries(1):
        send_answer = api.post("/otp/send", {"phone": PHONE, "channel": "sms"})

    assert send_answer.status == 200


def test_standard_words_have_these_lines_as_well(api: Api) -> None:
    Autofill.objects.create(company=api.company, webotp_host="example.com")

    send(api, channel="sms")

    first, last = handed_over().split("\n")
    assert (first[:4], last) == ("Код ", f"@example.com #{code_of(PHONE)}")
