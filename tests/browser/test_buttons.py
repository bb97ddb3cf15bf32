"""Every button of the cabinet and the admin is pressed by a browser test."""

import re
from collections.abc import Iterator
from pathlib import Path

from babel.messages import pofile
from babel.messages.catalog import Catalog

from tests.packages import PACKAGES, ROOT

BUTTON = re.compile(r"<button\b(?P<attributes>[^>]*)>(?P<content>.*?)</button>", re.DOTALL)
SAMPLE = re.compile(r"{% code .*?{% endcode %}", re.DOTALL)  # for a company's own page
PLAIN = re.compile(r"""{%\s*translate\s+(["'])(.*?)\1(?:\s+context\s+(["'])(.*?)\3)?\s*%}""")
WITH_VALUES = re.compile(r"{% blocktranslate[^%]*%}(.*?){% endblocktranslate %}", re.DOTALL)
NAMED_ELSEWHERE = {"cabinet/form.html", "components/post_button.html"}  # by views, by templates
POST_BUTTON = re.compile(r'{% post_button _\("([^"]+)"\)')
VERB = re.compile(r"\bverb=(.*?)(?:, \w+=|,?$)", re.MULTILINE)
WORDS = re.compile(r'\b(?:_|gettext)\("([^"]+)"\)')
# The words of these come from data: of the language, the provider, the group, the outcome.
NAMED_BY_DATA = {
    "cabinet/chart.html": ".chart-day",  # its name is the day, its channels and their numbers
    "components/sidebar.html": "Вторая компания",
    "cabinet/settings/countries.html": "+ СНГ",
    "base.html": "English",
    "components/sso_form.html": "Войти через Acme ID",
    "links/once.html": "Открыть",
    "sandbox_gateway.html": "Оплатить",
}


def test_every_button_is_named_in_a_browser_test() -> None:
    with (ROOT / "locale/ru/LC_MESSAGES/django.po").open("rb") as source:
        catalogue = pofile.read_po(source)
    others = (path for path in Path(__file__).parent.glob("*.py") if path.name != "test_buttons.py")
    tests = "".join(path.read_text("utf-8") for path in others)

    result = list(buttons(catalogue))
    unpressed = {name: words for name, words in result if not any(word in tests for word in words)}

    assert len(result) > 100
    assert unpressed == {}


def buttons(catalogue: Catalog) -> Iterator[tuple[str, list[str]]]:
    """The template, and what the button is called in Russian, up to the first value in it."""
    templates = ROOT / "templates"
    for path in sorted(templates.rglob("*.html")):
        name = path.relative_to(templates).as_posix()
        text = path.read_text("utf-8")
        for label in POST_BUTTON.findall(text):
            yield name, [_in_russian(label, "", catalogue)]
        for button in BUTTON.finditer(SAMPLE.sub("", text)) if name not in NAMED_ELSEWHERE else ():
            words = list(_words(button["attributes"] + button["content"], catalogue))
            yield name, words or [NAMED_BY_DATA.get(name, f"button without words in {name}")]
    for path in sorted(path for name in PACKAGES for path in (ROOT / name).rglob("*.py")):
        for verb in VERB.findall(path.read_text("utf-8")):
            words = [_in_russian(text, "", catalogue) for text in WORDS.findall(verb)]
            if words:
                yield path.relative_to(ROOT).as_posix(), words


def _words(html: str, catalogue: Catalog) -> Iterator[str]:
    for _quote, text, _quote_of_context, context in PLAIN.findall(html):
        yield _in_russian(text, context, catalogue)
    for text in WITH_VALUES.findall(html):
        yield _in_russian(re.sub(r"{{\s*(\w+)\s*}}", r"%(\1)s", text.strip()), "", catalogue)


def _in_russian(text: str, context: str, catalogue: Catalog) -> str:
    message = catalogue.get(text, context or None)
    translated = message.string if message else text
    known = translated if isinstance(translated, str) else (translated or [text])[0]
    return known.partition("%(")[0].strip() or f"button that begins with a value: {text}"
