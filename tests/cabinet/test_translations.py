"""The Russian catalogue is complete, and its compiled form says the same."""

import ast
import gettext
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.utils.translation.template import templatize

ROOT = Path(__file__).resolve().parents[2]
CATALOGUE = ROOT / "locale/ru/LC_MESSAGES/django.po"
APPS = ["accounts", "billing", "channels", "links", "otp", "operator_admin", "api_docs"]
CALLS = {"_", "gettext", "gettext_lazy", "ngettext", "ngettext_lazy"}
IN_TEMPLATE = re.compile(r"""\bn?gettext\(u?('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")""")
KEYWORD = re.compile(r'(msgctxt|msgid_plural|msgid|msgstr(?:\[\d\])?) (".*")')

Entry = dict[str, str]


def entries() -> Iterator[Entry]:
    for block in CATALOGUE.read_text(encoding="utf-8").split("\n\n"):
        entry, key = Entry(), ""
        for line in block.splitlines():
            if line.startswith("#"):
                entry["comments"] = entry.get("comments", "") + line
            elif found := KEYWORD.match(line):
                key = found[1]
                entry[key] = ast.literal_eval(found[2])
            elif line:
                entry[key] += ast.literal_eval(line)
        if "msgid" in entry:
            yield entry


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


def test_compiled_catalogue_equals_its_source() -> None:
    with CATALOGUE.with_suffix(".mo").open("rb") as file:
        compiled = gettext.GNUTranslations(file)._catalog  # type: ignore[attr-defined]

    written: dict[object, str] = {}
    for entry in WRITTEN:
        name = f"{entry['msgctxt']}\x04{entry['msgid']}" if "msgctxt" in entry else entry["msgid"]
        if "msgid_plural" in entry:
            written |= {(name, n): text for n, text in enumerate(texts(entry))}
        else:
            written[name] = entry["msgstr"]
    assert {key: text for key, text in compiled.items() if key} == written


def strings_of(path: Path) -> Iterator[str]:
    source = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        found = IN_TEMPLATE.findall(templatize(source))
        yield from (ast.literal_eval(text) for text in found)
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in CALLS:
            first = node.args[0] if node.args else None
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield first.value


def sources() -> Iterator[Path]:
    for app in APPS:
        outside = ("migrations", "simulator")
        yield from (p for p in (ROOT / app).rglob("*.py") if not set(outside) & set(p.parts))
    yield from (path for path in (ROOT / "templates").rglob("*") if path.is_file())


def test_every_string_in_the_code_is_in_the_catalogue() -> None:
    known = {entry["msgid"] for entry in WRITTEN}

    missing = {
        f"{path.relative_to(ROOT)}: {text}"
        for path in sources()
        for text in strings_of(path)
        if text not in known
    }

    assert missing == set()
