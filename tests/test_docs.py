"""The documentation is short, and the names, files and links in it exist."""

import ast
import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import pytest

from tests.packages import PACKAGES, ROOT

PAGES = sorted(path for path in (ROOT / "docs").rglob("*.md") if "examples" not in path.parts)
_OURS = "|".join([*PACKAGES, "tools"])
_NAME = re.compile(rf"`((?:{_OURS})(?:\.(?!csv\b)\w+)+)`")
_FILE = re.compile(rf"`((?:{_OURS}|tests|deploy|docs)/[\w/.-]+)`")
_CALL_BACK = re.compile(r"calls\s+back\s+`[^`]+`")
_NAME_IN_FILE = re.compile(r"`([A-Z_]{3,})` (?:of|in) `([\w/-]+\.py)`")
_NAMED = re.compile(r"(?<![\w/])docs/(?!examples/)[\w/-]+\.md\b")
_LINK = re.compile(r"\]\((?!https?:)([^)\s#]*)(?:#([^)\s]+))?\)")
_CODE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
LINKED = [*(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")), *PAGES]
WORDS = 30_000
WORDS_OF_A_PAGE = 1_500
WORDS_OF_A_DECISION = 300


def names_in(tree: ast.Module | ast.ClassDef, prefix: str = "") -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield prefix + node.name
        if isinstance(node, ast.ClassDef):
            yield from names_in(node, f"{prefix}{node.name}.")
        if isinstance(node, ast.Assign):
            yield from (
                prefix + target.id for target in node.targets if isinstance(target, ast.Name)
            )


def exists(name: str) -> bool:
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        place = ROOT.joinpath(*parts[:length])
        for path in (place.with_suffix(".py"), place / "__init__.py"):
            if path.is_file():
                rest = ".".join(parts[length:])
                return not rest or rest in names_in(ast.parse(path.read_text(encoding="utf-8")))
    return False


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page_names_only_code_that_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")

    missing = [name for name in _NAME.findall(text) if not exists(name)]
    missing += [name for name in _FILE.findall(text) if not (ROOT / name).exists()]

    assert missing == []


@pytest.mark.parametrize("page", LINKED, ids=lambda page: page.stem)
def test_page_names_only_constants_of_their_files(page: Path) -> None:
    named = _NAME_IN_FILE.findall(re.sub(r"\s+", " ", page.read_text(encoding="utf-8")))

    missing = [
        name
        for name, path in named
        if not re.search(rf"\b{name}\b", (ROOT / path).read_text(encoding="utf-8"))
    ]

    assert missing == []


def words(page: Path) -> int:
    return len(page.read_text(encoding="utf-8").split())


def test_documentation_is_short() -> None:
    pages = {page: words(page) for page in (ROOT / "docs").rglob("*.md")}

    assert sum(pages.values()) <= WORDS
    assert [str(page) for page, length in pages.items() if length > most_words(page)] == []


def most_words(page: Path) -> int:
    is_decision = page.parent.name == "decisions" and page.stem != "README"
    return WORDS_OF_A_DECISION if is_decision else WORDS_OF_A_PAGE


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", LINKED, ids=lambda page: page.stem)
def test_links_lead_to_pages_and_headings(page: Path) -> None:
    missing = []
    for name, anchor in _LINK.findall(_CODE.sub("", page.read_text(encoding="utf-8"))):
        target = page.parent / name if name else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            missing.append(f"{name}#{anchor}")

    assert missing == []


def test_code_and_settings_name_only_pages_that_exist() -> None:
    folders = [*PACKAGES, "tools", "deploy"]
    files = [path for folder in folders for path in (ROOT / folder).rglob("*") if path.is_file()]
    files = [path for path in files if path.suffix != ".pyc"]  # of sources that may be gone
    files += [ROOT / name for name in (".env.example", ".squawk.toml", "Makefile")]
    files += (ROOT / "locale").rglob("*.po")

    named = {
        name
        for path in files
        for name in _NAMED.findall(path.read_text(encoding="utf-8", errors="ignore"))
    }

    assert len(named) > 10
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_names_are_looked_for() -> None:
    assert exists("otp.check.check.check_code")
    assert not exists("otp.check.check.no_such_function")


def package_of(name: str) -> str:
    """The innermost folder of the module that a dotted name is in."""
    parts = name.split(".")
    depth = next(n for n in range(len(parts), 0, -1) if ROOT.joinpath(*parts[:n]).is_dir())
    return ".".join(parts[:depth])


def walks() -> list[str]:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    return page.split("## Five walks")[1].split("\n## ")[0].split("\n### ")[1:]


@pytest.mark.parametrize("walk", walks(), ids=lambda walk: walk.split("`")[1])
def test_walk_returns_to_a_package_only_where_it_calls_back(walk: str) -> None:
    onwards = _CALL_BACK.sub("", walk)
    visits = [package for package, _ in groupby(map(package_of, _NAME.findall(onwards)))]

    assert visits == list(dict.fromkeys(visits))
    assert len(visits) > 1


def test_each_column_of_a_table_has_a_name() -> None:
    pages = [*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md"), ROOT / "tests/README.md"]
    unnamed = re.compile(r"^(?=.*\| +\|)\|.*\|\n\|[-:|]+\|$", re.MULTILINE)

    assert [page for page in pages if unnamed.search(page.read_text(encoding="utf-8"))] == []
