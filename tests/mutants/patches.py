"""A mutant removes one guard, by a patch whose hunks are matched by their text.

A patch is what `git diff` writes, below two kinds of header line:

    Guard: what the guard promises
    Caught-by: tests/folder/test_module.py::test_name (may come more than once)

Line numbers are ignored: the lines of a hunk must be in its file exactly once. So a patch survives
changes elsewhere in the file.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parent.parent


class PatchError(Exception):
    """An invalid patch, or one that does not fit the tree."""


@dataclass(frozen=True, slots=True)
class Hunk:
    path: str
    old: str
    new: str

    def applied(self, text: str) -> str:
        """The file's text without its guard; raises PatchError unless `old` is there once."""
        lined = f"\n{text}"
        old = f"\n{self.old}"
        if (count := lined.count(old)) != 1:
            shown = self.old.strip().splitlines()[0].strip()
            raise PatchError(f"{self.path} has {count} places like `{shown} …`, not one")
        return lined.replace(old, f"\n{self.new}").removeprefix("\n")


@dataclass(frozen=True, slots=True)
class Mutant:
    name: str
    guard: str
    checks: tuple[str, ...]
    hunks: tuple[Hunk, ...]

    def applied(self, root: Path) -> dict[Path, str]:
        """The files it changes in this tree, as they would read."""
        texts: dict[Path, str] = {}
        for hunk in self.hunks:
            file = root / hunk.path
            if file not in texts and not file.is_file():
                raise PatchError(f"{hunk.path} is not there")
            texts[file] = hunk.applied(texts.get(file) or file.read_text(encoding="utf-8"))
        return texts


def read_all() -> list[Mutant]:
    return [read(path) for path in sorted(FOLDER.glob("*.patch"))]


def read(path: Path) -> Mutant:
    head, mark, body = path.read_text(encoding="utf-8").partition("--- a/")
    guards = _named("Guard", head)
    checks = _named("Caught-by", head)
    hunks = tuple(_hunks((mark + body).splitlines()))
    if not (len(guards) == 1 and checks and hunks):
        raise PatchError(f"{path.name} needs a Guard, a Caught-by and a hunk")
    return Mutant(path.stem, guards[0], tuple(checks), hunks)


def _named(name: str, head: str) -> list[str]:
    result = (line.partition(": ") for line in head.splitlines())
    return [text.strip() for key, _, text in result if key == name]


def _hunks(lines: Sequence[str]) -> Iterator[Hunk]:
    path = ""
    shown = list[str]()
    for line in [*lines, "@@"]:
        if line.startswith(("@@", "diff --git ", "--- a/")):
            if shown:
                yield _hunk(path, shown)
            shown = []
        elif line.startswith("+++ b/"):
            path = line.removeprefix("+++ b/")
        elif path and not line.startswith("index "):
            shown.append(line or " ")  # an editor took the blank of an empty line


def _hunk(path: str, shown: list[str]) -> Hunk:
    while shown[-1] == " ":
        shown.pop()
    if strange := [line for line in shown if line[0] not in " -+"]:
        raise PatchError(f"{path}: no line of a hunk: {strange[0]}")
    old = [line[1:] for line in shown if line[0] != "+"]
    new = [line[1:] for line in shown if line[0] != "-"]
    if not any(old):
        raise PatchError(f"{path}: a hunk that shows no line of the file")
    return Hunk(path, "".join(f"{line}\n" for line in old), "".join(f"{line}\n" for line in new))
