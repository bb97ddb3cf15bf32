"""A language is a folder of texts; no code names one."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from itertools import product
from unicodedata import bidirectional

import pytest
from django.conf import settings

from accounts.people import countries
from catalogue.languages import message_languages, page_languages, tags
from channels.providers import gsm
from parsing import clipboard
from tests.packages import PACKAGES, ROOT

PAGES = page_languages.translated()
MESSAGES = sorted(message_languages.codes())
NAMES = re.compile(rf"(?:^|_)({'|'.join([*PAGES, 'kk', 'uz', 'uk', 'pt-PT', 'Cyrl'])})$")
MAY = {"config/settings.py", *(f"{name}/migrations/0001_initial.py" for name in PACKAGES)}
NOT_KNOWN = {("whatsapp", "code")}  # the sentence of Meta in most languages
STRONG = {"L", "R", "AL"}
RIGHT_TO_LEFT = [
    code for code in MESSAGES if bidirectional(message_languages.texts(code)["name"][0]) != "L"
]
WANTED = {"ru", "en", "kk", "uz", "uk", "be", "ky", "tr", "de", "es", "pt", "fr", "ar", "az"}


def test_every_language_of_the_settings_has_texts() -> None:
    assert sorted(page_languages.codes()) == sorted(PAGES)
    assert page_languages.codes()[0] == settings.LANGUAGE_CODE
    assert set(PAGES) < message_languages.codes()


def test_message_languages_have_canonical_codes() -> None:
    assert message_languages.codes() >= WANTED
    assert [code for code in MESSAGES if tags.canonical(code) != code] == []


def _paths(texts: object, *above: str) -> Iterator[tuple[tuple[str, ...], type]]:
    if isinstance(texts, dict):
        for name, text in texts.items():
            yield from _paths(text, *above, name)
    else:
        yield above, type(texts)


def _texts(code: str) -> dict[tuple[str, ...], str]:
    def walk(texts: object, *above: str) -> Iterator[tuple[tuple[str, ...], str]]:
        if isinstance(texts, dict):
            for name, text in texts.items():
                yield from walk(text, *above, name)
        elif isinstance(texts, str):
            yield above, texts

    return dict(walk(message_languages.texts(code)))


@pytest.mark.parametrize("code", MESSAGES)
def test_every_language_has_the_same_texts(code: str) -> None:
    expected = dict(_paths(message_languages.texts(page_languages.worldwide())))
    result = dict(_paths(message_languages.texts(code)))

    assert result == {key: kind for key, kind in expected.items() if key in result}
    assert expected.keys() - result.keys() <= NOT_KNOWN


@pytest.mark.parametrize("code", PAGES)
def test_every_language_of_the_pages_has_the_same_texts(code: str) -> None:
    names = [path for path, _kind in _paths(page_languages.texts(code))]
    expected = [path for path, _kind in _paths(page_languages.texts(page_languages.worldwide()))]

    def shown(paths: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
        return [path for path in paths if path[0] != "country_names"]

    assert shown(names) == shown(expected)


@pytest.mark.parametrize("code", MESSAGES)
def test_every_text_has_the_same_variables_once(code: str) -> None:
    def variables(text: str) -> list[str]:
        return sorted(re.findall(r"\{\w+\}|(?<![\w:]):link(?!\w)|(?<!\S)/(?:stop|start)\b", text))

    expected = _texts(page_languages.worldwide())
    different = {
        path: text
        for path, text in _texts(code).items()
        if variables(text) != variables(expected[path])
    }

    assert different == {}


# The shortest alphabet, and the one of a brand that GSM lacks.
@pytest.mark.parametrize(("code", "brand"), [*product(MESSAGES, ["B" * 30, "Ж" * 30])])
def test_code_with_longest_brand_fits_one_sms(code: str, brand: str) -> None:
    text = message_languages.texts(code)["code"].format(code="12345678", brand=brand)

    assert gsm.count_segments(text).segments == 1


def test_four_languages_fit_the_gsm_alphabet() -> None:
    plain = [
        code
        for code in MESSAGES
        if not gsm.non_gsm_characters(message_languages.texts(code)["code"])
    ]

    assert plain == ["de", "en", "fr", "uz"]


@pytest.mark.parametrize("code", MESSAGES)
def test_no_text_has_an_invisible_character(code: str) -> None:
    for text in _texts(code).values():
        assert all(char.isprintable() or char == "\n" for char in text)


# --- Right to left ---


def test_language_is_written_from_the_right() -> None:
    assert RIGHT_TO_LEFT == ["ar"]


def _first_strong(text: str) -> str:
    return next((kind for char in text if (kind := bidirectional(char)) in STRONG), "")


@pytest.mark.parametrize("code", RIGHT_TO_LEFT)
def test_text_begins_in_its_own_direction(code: str) -> None:
    """Phones take the direction of a paragraph from its first letter (UAX #9, P2)."""
    texts = [text for path, text in _texts(code).items() if path[-1] != "language"]
    first_lines = [text.partition("\n")[0] for text in texts]

    assert {_first_strong(line) for line in first_lines} == {"AL"}


@pytest.mark.parametrize("code", RIGHT_TO_LEFT)
def test_bot_command_is_on_a_separate_line(code: str) -> None:
    """After Arabic its slash would be shown on the other side: `stop/`."""
    for text in message_languages.texts(code)["bot"].values():
        assert all(line.startswith("/") for line in text.split("\n") if "/" in line)


# --- Words of people ---


@pytest.mark.parametrize("code", MESSAGES)
def test_words_are_as_they_are_compared(code: str) -> None:
    for word in [*message_languages.texts(code)["stop"], *message_languages.texts(code)["start"]]:
        assert clipboard.words(word) == word


def test_no_keyword_means_both_stop_and_start() -> None:
    stop, start = (
        Counter(word for code in MESSAGES for word in message_languages.texts(code)[name])
        for name in ("stop", "start")
    )

    assert [word for word, count in (stop + start).items() if count > 1] == []


@pytest.mark.parametrize(
    "text",
    [
        "Стоп",
        "STOP!",
        "Abmelden",
        "BAJA",
        "İPTAL",
        "Iptal",
        "ÇIK",
        "to'xta",
        "Toʻxtatish",
        "тўхтат",
        "توقف",
        "إلغاء",
        "ТОҚТАТУ",
        "токтотуу",
        "ləğv et",
        "İMTİNA",
        "Arrêter",
        "Відписатись",
        "адпісацца",
        "SAIR",
        "Descadastrar",
    ],
)
def test_stop_is_understood_in_every_language(text: str) -> None:
    assert clipboard.words(text) in message_languages.words("stop")


# --- Countries ---


def test_each_country_has_a_single_language() -> None:
    named = Counter(
        country for code in MESSAGES for country in message_languages.texts(code)["countries"]
    )

    assert [country for country, count in named.items() if count > 1] == []
    assert named.keys() <= countries.CODES


@pytest.mark.parametrize(
    ("country", "language"),
    [
        *(
            (country, "ru")
            for country in ["RU", "KZ", "BY", "KG", "UZ", "AZ", "AM", "TJ", "TM", "MD"]
        ),
        ("UA", "uk"),
        ("DE", "de"),
        ("BR", "pt"),
        ("PT", "pt-PT"),
        ("MX", "es"),
        ("EG", "ar"),
        ("US", "en"),
        ("AE", "en"),
        ("GE", "en"),
        ("CH", "en"),
    ],
)
def test_country_has_its_language(country: str, language: str) -> None:
    assert message_languages.of_country(country) == language


def test_no_code_names_a_language() -> None:
    named = []
    for path in (path for package in PACKAGES for path in (ROOT / package).rglob("*.py")):
        if str(path.relative_to(ROOT)) in MAY:
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            word = getattr(node, "value", None) if isinstance(node, ast.Constant) else None
            word = word or getattr(node, "attr", None) or getattr(node, "id", None)
            if isinstance(word, str) and NAMES.search(word):
                named.append(f"{path.relative_to(ROOT)}: {word}")

    assert named == []
