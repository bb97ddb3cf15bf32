"""The rules for a text of a company, and how a fault is explained."""

import time

import pytest
from django.conf import settings as configured
from django.core.exceptions import ValidationError
from django.utils.translation import override
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pytest_django import Settings

from channels.providers import gsm
from channels.providers.gsm import non_gsm_characters
from links.make.new_link import short_url
from otp.texts import rendering, rules
from parsing.characters import normalised
from tests.api.clients import Api
from tests.channels.message_stages import send

GOOD = [
    "{code}",
    "Код {code}. Никому его не сообщайте. {brand}",
    "{brand}: вход по коду {code}, действует {minutes} мин.\n{link}",
    "Код — {code}!\nВойти: {link}\nС 9 до 18, т. е. 24/7",
    "Ваш код: “{code}” 😀",
    "(G-{code}) it's 5.5 minutes",
]
BAD = {
    "nothing here": "Put {code}",
    "{code} and {code}": "once",
    "{code} {name}": "no variable {name}",
    "{code} }": "Braces",
    "1{code}": "touch {code}",
    "{code}x": "touch {code}",
    "{brand}{code}": "touch {code}",
    "{code}\n{link}\n{link}": "{link} may appear",
    "{code} {link}": "line of its own",
    "{code}\nGo:{link}": "before {link}",
    "{code} http://x": "“http://x”",
    "{code} пример.рф": "“пример.рф”",
    "{code} i❤.ws/bank": "“i❤.ws”",
    "{code} ☎.ws": "“☎.ws”",
    "{code} bank.भारत": "bank.भारत",
    "{code} me@here": "“me@here”",
    "{code} {brand}.ru": "“{brand}.ru”",
    "{code}.Never tell": "“{code}.Never”",
    "@example.com #{code}": "“@example.com”",
    "{code} +7 (916) 123": "“7 (916) 123”",
    "{code} ٠١٢٣": "“٠١٢٣”",
    "{code}\x07": "U+0007",
    "{code} \u202egnp": "U+202E RIGHT-TO-LEFT OVERRIDE",
    "{code} a\u200bb": "U+200B ZERO WIDTH SPACE",
}


@pytest.mark.parametrize("body", GOOD)
def test_valid_text_is_accepted(body: str) -> None:
    rules.check(body)


@pytest.mark.parametrize(("body", "text"), BAD.items())
def test_text_is_refused_and_says_why(body: str, text: str) -> None:
    with override("en"), pytest.raises(ValidationError) as refused:
        rules.check(body)

    assert text in " ".join(refused.value.messages)


def test_all_faults_are_reported_together() -> None:
    with pytest.raises(ValidationError) as refused:
        rules.check("{cod} http://x 12345")

    assert len(refused.value.messages) == 4


PIECES = [
    "{code}",
    "{brand}",
    "{minutes}",
    "{link}",
    "\n",
    " ",
    ". ",
    "{",
    "}",
    "код",
    "x",
    "é",
    "9",
]
SOME = st.lists(st.sampled_from(PIECES) | st.text(max_size=8), max_size=5).map("".join)
PLAIN = st.lists(st.sampled_from([" ", "\n", "код", "{brand}", ", "]), max_size=5).map("".join)
WITH_CODE = st.tuples(PLAIN, SOME | PLAIN | PLAIN.map("\n{{link}}\n{}".format)).map(" {code} ".join)
WRITTEN = SOME | WITH_CODE
SENT = {"code": "482915", "link": "https://l.example/bcdfghjkmn"}


def is_let_in(body: str) -> bool:
    try:
        rules.check(body)
    except ValidationError:
        return False
    return True


@settings(deadline=None, max_examples=400)
@given(WRITTEN.map(normalised), st.text(max_size=30), st.booleans())
@example("{code}\n{link}", "{code}", True)
@example("a\n{link}\n{code}", "", False)
def test_code_is_in_every_message_exactly_once(body: str, brand: str, has_link: bool) -> None:
    if not is_let_in(body) or "482915" in brand:
        return

    text = rendering.fill(
        rendering.compose(body, has_link=has_link),
        brand=brand,
        minutes=5,
        code=SENT["code"],
        link=SENT["link"] if has_link else None,
    )

    assert text.count(SENT["code"]) == 1
    assert text.count(SENT["link"]) == has_link


@settings(deadline=None, max_examples=200)
@given(
    st.text(max_size=160).map(lambda some: normalised(f"{some} {{code}} {{brand}}")),
    st.text(max_size=30) | st.text("😀a", min_size=30, max_size=30),
    st.sampled_from([[], ["FA+9qCX9VSu"], ["FA+9qCX9VSu", "@example.com #{code}"]]),
)
def test_text_that_is_saved_fits_whatever_the_brand(body: str, brand: str, tail: list[str]) -> None:
    if not is_let_in(body) or rules.max_segments(body, tail) > configured.MAX_SMS_SEGMENTS:
        return

    sent = rendering.fill(
        rendering.compose(body, has_link=True, tail=tail),
        code="48291547",
        brand=brand,
        minutes=None,
        link=short_url("bcdfghjkmn"),
    )

    assert gsm.count_segments(sent).segments <= rules.max_segments(body, tail)


def test_text_of_four_parts_is_refused() -> None:
    rules.check_length("x" * 400 + " {code}", [])

    with override("en"), pytest.raises(ValidationError, match="takes 4 parts"):
        rules.check_length("x" * 450 + " {code}", [])


def test_brand_counts_as_russian() -> None:
    assert rules.max_segments("x" * 100 + " {code}", []) == 1
    assert rules.max_segments("x" * 100 + " {code} {brand}", []) == 3


def test_characters_outside_the_alphabet_are_named_once() -> None:
    assert non_gsm_characters("It’s ’ok’ — €") == ["’", "—"]
    assert rules.describe_character("’") == "«’» U+2019 RIGHT SINGLE QUOTATION MARK"
    assert rules.describe_character("\u00a0") == "U+00A0 NO-BREAK SPACE"


@pytest.mark.parametrize(
    ("typed", "host"),
    [
        ("example.com", "example.com"),
        (" Login.Example.COM ", "login.example.com"),
        ("пример.рф", "xn--e1afmkfd.xn--p1ai"),
    ],
)
def test_host_is_normalised(typed: str, host: str) -> None:
    assert rules.check_host(typed) == host


@pytest.mark.parametrize(
    "typed",
    [
        "localhost",
        "https://example.com",
        "example.com:8443",
        "10.0.0.1",
        "-a.example.com",
        "a" * 64 + ".com",
        "example.com #1",
        f"{'a.' * 130}com",
        "ab\ufffd.com",
    ],
)
def test_invalid_host_is_refused(typed: str) -> None:
    with pytest.raises(ValidationError):
        rules.check_host(typed)


@pytest.mark.parametrize("typed", ["FA+9qCX9VS", "FA+9qCX9VSu=", "FA-9qCX9VSu", "ФA+9qCX9VSu", ""])
def test_invalid_app_hash_is_refused(typed: str) -> None:
    rules.check_hash("FA+9qCX9VSu")

    with pytest.raises(ValidationError):
        rules.check_hash(typed)


URL = "https://example.com/"
NEW_KEYS = {"new": b"x" * 32}


def test_test_messages_show_what_is_left(test_api: Api, settings: Settings) -> None:
    send(test_api)
    link = test_api.post("/links/send", {"phone": "+79161234568", "url": URL}).body["short_url"]
    settings.OTP_KEYS = NEW_KEYS
    with_link = send(test_api, "+79161234569", link=URL).params["short_url"]
    settings.OTP_KEYS = {"newer": b"y" * 32}

    response = test_api.get("/test/messages")

    shown = [(row["text"], row["code"], row["short_url"]) for row in response.body["data"]]
    assert response.status == 200
    assert shown == [(None, None, with_link), ("ссылка от Ромашка", None, link), (None,) * 3]


@pytest.mark.parametrize("text", ["㌖" * 5000, "-" * 30_000, "a@" * 15_000, "a." * 15_000])
def test_any_text_is_validated_in_linear_time(text: str) -> None:
    started = time.process_time()

    list(rules.addresses(text))

    assert time.process_time() - started < 0.5
