"""Every string of the product is translated, with its plurals and placeholders."""

import ast
import gettext
import re
from collections.abc import Iterator
from pathlib import Path

import allauth
import django
import pytest
from django.utils.translation.template import templatize

from tests.packages import PACKAGES, ROOT

CATALOGUE = ROOT / "locale/ru/LC_MESSAGES/django.po"
RUSSIAN = ROOT / "api_docs/articles/ru"
# The position of the msgid among the arguments.
CALLS = dict.fromkeys(["_", "gettext", "gettext_lazy", "ngettext", "ngettext_lazy"], 0)
CALLS |= dict.fromkeys(["pgettext", "pgettext_lazy", "npgettext", "npgettext_lazy"], 1)
# Texts sent to phones, in the language of the message: data, not gettext.
MESSAGE_TEXTS = {
    "api_docs/pages/samples.py",
    "channels/providers/bot.py",
    "links/make/message_text.py",
    "otp/texts/rendering.py",
}
CYRILLIC = re.compile("[а-яё]", re.IGNORECASE)
LATIN = re.compile("[a-z]{3}", re.IGNORECASE)  # more than a language's code
STRING = r"""u?('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")"""
IN_TEMPLATE = re.compile(rf"\b(?:n?pgettext\({STRING}, *|(?:n?gettext|_)\(){STRING}")
IN_BRACES = re.compile(r"\{\w+\}")
CUT = re.compile(r'(?:endblocktranslate|translate "[^"]*[^:"]") %\}\s*\{\{[^}]*\}\}[.,?]')
KEYWORD = re.compile(r'(msgctxt|msgid_plural|msgid|msgstr(?:\[\d\])?) (".*")')

Entry = dict[str, str]


def entries(catalogue: Path = CATALOGUE) -> Iterator[Entry]:
    for block in catalogue.read_text(encoding="utf-8").split("\n\n"):
        entry = Entry()
        key = ""
        for line in block.splitlines():
            if line.startswith("#"):
                entry["comments"] = entry.get("comments", "") + line
            elif match := KEYWORD.match(line):
                key = match[1]
                entry[key] = ast.literal_eval(match[2])
            elif line:
                entry[key] += ast.literal_eval(line)
        if "msgid" in entry:
            yield entry


def key_of(entry: Entry) -> str:
    return f"{entry['msgctxt']}\x04{entry['msgid']}" if "msgctxt" in entry else entry["msgid"]


WRITTEN = [entry for entry in entries() if entry["msgid"]]


def texts(entry: Entry) -> list[str]:
    return [value for key, value in entry.items() if key.startswith("msgstr")]


def test_every_string_is_translated_to_russian() -> None:
    bare = [entry["msgid"] for entry in WRITTEN if not all(texts(entry))]
    fuzzy = [entry["msgid"] for entry in WRITTEN if "fuzzy" in entry.get("comments", "")]

    assert (bare, fuzzy) == ([], [])


def test_plurals_have_three_forms() -> None:
    counted = {entry["msgid"]: len(texts(entry)) for entry in WRITTEN if "msgid_plural" in entry}

    assert counted
    assert set(counted.values()) == {3}


@pytest.mark.parametrize("mark", [r"%\(\w+\)[sd]", r"%[sd]"])
def test_placeholders_survive_the_translation(mark: str) -> None:
    for entry in WRITTEN:
        for text in texts(entry):
            assert set(re.findall(mark, text)) == set(re.findall(mark, entry["msgid"]))


def test_names_in_braces_survive_the_translation() -> None:
    formats = [entry for entry in WRITTEN if "brace-format" in entry.get("comments", "")]

    assert formats
    for entry in formats:
        assert set(IN_BRACES.findall(entry["msgstr"])) == set(IN_BRACES.findall(entry["msgid"]))


def test_compiled_catalogue_equals_its_source() -> None:
    with CATALOGUE.with_suffix(".mo").open("rb") as file:
        compiled = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]

    written: dict[object, str] = {}
    for entry in WRITTEN:
        name = key_of(entry)
        if "msgid_plural" in entry:
            written |= {(name, n): text for n, text in enumerate(texts(entry))}
        else:
            written[name] = entry["msgstr"]
    assert {key: text for key, text in compiled.items() if key} == written


def strings_of(path: Path) -> Iterator[str]:
    """The text of each message, after its context if it has one, as the catalogue keys them."""
    source = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        for match in IN_TEMPLATE.findall(templatize(source)):
            yield "\x04".join(ast.literal_eval(text) for text in match if text)
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and (name := called(node.func)) in CALLS:
            known = [literal(arg) for arg in node.args[: CALLS[name] + 1]]
            if all(known):
                yield "\x04".join(known)


def called(node: ast.AST) -> str:
    """The name of a function, also of a module's: `translation.gettext`."""
    return str(getattr(node, "id", getattr(node, "attr", "")))


def literal(node: ast.AST) -> str:
    """The text of a string in the source, placeholders of an f-string left out."""
    if isinstance(node, ast.JoinedStr):
        return "".join(literal(value) for value in node.values)
    if isinstance(node, ast.BinOp):
        return literal(node.left) + literal(node.right)
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return node.value if is_text else ""  # type: ignore[attr-defined]


def sources() -> Iterator[Path]:
    for app in PACKAGES:
        outside = ("migrations", "simulator")
        yield from (p for p in (ROOT / app).rglob("*.py") if not set(outside) & set(p.parts))
    yield from (path for path in texts_of_pages() if not path.is_relative_to(RUSSIAN))


def texts_of_pages() -> Iterator[Path]:
    for folder in ("templates", "api_docs/articles"):
        yield from (path for path in (ROOT / folder).rglob("*") if path.is_file())


def test_every_string_in_the_code_is_in_the_catalogue() -> None:
    known = {key_of(entry) for entry in WRITTEN}

    missing = {
        f"{path.relative_to(ROOT)}: {text}"
        for path in sources()
        for text in strings_of(path)
        if text not in known
    }

    assert missing == set()


def test_every_catalogue_string_is_used() -> None:
    libraries = [Path(package.__path__[0]) for package in (django, allauth)]
    catalogues = (po for path in libraries for po in path.rglob("locale/de/LC_MESSAGES/django.po"))
    shown = {key_of(entry) for po in catalogues for entry in entries(po)}
    shown |= {text for path in sources() for text in strings_of(path)}

    assert {key_of(entry) for entry in WRITTEN} - shown == set()


def test_no_text_is_next_to_its_translation() -> None:
    """Pairs of a Russian and an English text would be a second mechanism besides gettext."""
    product = {path.relative_to(ROOT).as_posix(): path for path in sources()}

    pairs = {
        f"{name}:{line}"
        for name, path in product.items()
        if path.suffix == ".py" and name not in MESSAGE_TEXTS
        for line in pairs_in(path)
    }

    assert pairs == set()


def pairs_in(path: Path) -> Iterator[int]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Tuple(elts=[_, _] as texts) | ast.Dict(values=[_, _] as texts):
                russian = [bool(CYRILLIC.search(literal(text))) for text in texts]
                english = [bool(LATIN.search(literal(text))) for text in texts]
                if any(russian) and not all(russian) and any(english):
                    yield node.lineno


@pytest.mark.parametrize(
    "source", ["('да', 'yes')", "{'ru': 'да', 'en': 'yes'}", "(f'да {n}', 'y' + 'es')"]
)
def test_pair_of_languages_is_noticed(source: str, tmp_path: Path) -> None:
    module = tmp_path / "module.py"
    module.write_text(source, encoding="utf-8")

    assert list(pairs_in(module))


def test_russian_line_never_begins_with_dash() -> None:
    """A space that does not break stands before each: in the catalogue and in the pages."""
    articles = [path.read_text("utf-8") for path in RUSSIAN.rglob("*.md")]
    shown = [*(text for entry in WRITTEN for text in texts(entry)), *articles]

    assert articles

    assert [text for text in shown if re.search(r"\S[ \n]\s*— ", text)] == []


# A figure or a placeholder, then a percent sign that begins no placeholder.
PERCENT = re.compile(r"(?:\d|\)[sd]|\}\}|\})([ \u00a0]|&nbsp;)?%(?:%|(?![\w(}]))")


def test_percent_sign_follows_each_language() -> None:
    english = {space for entry in WRITTEN for space in PERCENT.findall(entry["msgid"])}
    russian = {space for entry in WRITTEN for t in texts(entry) for space in PERCENT.findall(t)}

    assert (english, russian) == ({""}, {"\u00a0"})


def test_percent_sign_space_follows_the_language() -> None:
    spaces = {
        (path.relative_to(ROOT), space)
        for path in texts_of_pages()
        for space in PERCENT.findall(path.read_text(encoding="utf-8"))
    }

    assert {(path, space) for path, space in spaces if space == "&nbsp;"} == {
        (path, space) for path, space in spaces if (ROOT / path).is_relative_to(RUSSIAN)
    }
    assert {space for _path, space in spaces} == {"", "&nbsp;"}


def test_no_sentence_is_cut_before_a_value() -> None:
    """A translator must be able to move the value."""
    pages = {
        path: path.read_text(encoding="utf-8") for path in (ROOT / "templates").rglob("*.html")
    }

    assert {path: CUT.findall(page) for path, page in pages.items() if CUT.search(page)} == {}
