"""Functions, files and tests that the documentation names exist."""

import ast
import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = "accounts|api_docs|billing|channels|config|links|operator_admin|otp|tools"
PAGES = sorted(path for path in (ROOT / "docs").rglob("*.md") if "examples" not in path.parts)
_NAME = re.compile(rf"`((?:{PACKAGES})(?:\.\w+)+)`")
_FILE = re.compile(rf"`((?:{PACKAGES}|tests|deploy|docs)/[\w/.-]+)`")


def names_in(tree: ast.Module | ast.ClassDef, prefix: str = "") -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield prefix + node.name
        if isinstance(node, ast.ClassDef):
            yield from names_in(node, f"{prefix}{node.name}.")
        if isinstance(node, ast.Assign):
            yield from (prefix + one.id for one in node.targets if isinstance(one, ast.Name))


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


def test_names_are_looked_for() -> None:
    assert exists("otp.check.check_code")
    assert not exists("otp.check.no_such_function")


def package_of(name: str) -> str:
    """The innermost folder of the module that a dotted name is in."""
    parts = name.split(".")
    depth = next(n for n in range(len(parts), 0, -1) if ROOT.joinpath(*parts[:n]).is_dir())
    return ".".join(parts[:depth])


def walks() -> list[str]:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    return page.split("## Five walks")[1].split("\n## ")[0].split("\n### ")[1:]


@pytest.mark.parametrize("walk", walks(), ids=lambda walk: walk.split("`")[1])
def test_walk_returns_to_no_package(walk: str) -> None:
    visits = [package for package, _ in groupby(map(package_of, _NAME.findall(walk)))]

    assert visits == list(dict.fromkeys(visits))
    assert len(visits) > 1
