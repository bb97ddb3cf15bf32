"""A language is declared in the settings, and is a file of texts; no code names one."""

import ast
import re

import pytest
from django.conf import settings

from catalogue import languages
from tests.packages import PACKAGES, ROOT

NAMES = re.compile(rf"(?:^|_)({'|'.join(languages.translated())})$")
MAY = {"config/settings.py", *(f"{name}/migrations/0001_initial.py" for name in PACKAGES)}


def test_every_language_of_the_settings_has_texts() -> None:
    assert sorted(languages.codes()) == sorted(languages.translated())
    assert languages.codes()[0] == settings.LANGUAGE_CODE


def _shape(texts: object) -> object:
    if isinstance(texts, dict):
        return {name: _shape(text) for name, text in texts.items() if name != "country_names"}
    return type(texts)


@pytest.mark.parametrize("code", languages.translated())
def test_every_language_has_the_same_texts(code: str) -> None:
    assert _shape(languages.texts(code)) == _shape(languages.texts(languages.worldwide()))


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
