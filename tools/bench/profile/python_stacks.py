"""Sampled Python stacks: their activities and causes, and control of the sampled processes."""

import re
import sysconfig
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from config.environment.variables import ROOT

HEADER = "Stack (most recent call first):"
_FRAME = re.compile(r'  File "(.+)", line (\d+) in (.+)')
_SITE = "/site-packages/"
_LIBRARY = f"{sysconfig.get_paths()['stdlib']}/"
INSIDE = str(Path(__file__).parent / "inside")

OURS = "our Python"
NO_FRAME = "between two calls"  # a server thread that currently runs no Python
_TABLES: dict[str, Any] = tomllib.loads(Path(__file__).with_name("causes.toml").read_text("utf-8"))
CAUSES: dict[str, str] = _TABLES["packages"]
LIBRARY_CAUSES: dict[str, str] = _TABLES["library"]
OWN_CAUSES: dict[str, str] = _TABLES["own"]
ACTIVITIES: list[tuple[str, str, str]] = _TABLES["activities"]


class Frame(NamedTuple):
    file: str
    line: int
    function: str


PythonStack = Sequence[Frame]  # the innermost frame first


def parse(text: str) -> Iterator[PythonStack]:
    for dump in text.split(HEADER)[1:]:
        matches = (_FRAME.fullmatch(line) for line in dump.splitlines())
        yield [Frame(match[1], int(match[2]), match[3]) for match in matches if match]


def cause(stack: PythonStack) -> str:
    """The owner of the code, by the innermost frame outside the standard library."""
    for frame in stack:
        name = _cause(frame.file)
        if name:
            return name
    return "Python's standard library" if stack else NO_FRAME


def _cause(file: str) -> str | None:
    if _SITE in file:
        package = file.partition(_SITE)[2].partition("/")[0].removesuffix(".py")
        return CAUSES.get(package, f"package {package}")
    if file.startswith(INSIDE):
        return "the profiler"
    if file.startswith(_LIBRARY):
        module = file.removeprefix(_LIBRARY).partition("/")[0].removesuffix(".py")
        return LIBRARY_CAUSES.get(module)
    if not file.startswith(f"{ROOT}/"):
        return None  # generated code, such as "<string>"
    path = file.removeprefix(f"{ROOT}/").removesuffix(".py")
    return next((name for part, name in OWN_CAUSES.items() if path.startswith(part)), OURS)


def activity(stack: PythonStack) -> str:
    for file, function, name in ACTIVITIES:
        if any(_is_in(frame, file, function) for frame in stack):
            return name
    return "other"


def _is_in(frame: Frame, file: str, function: str) -> bool:
    path = frame.file.removeprefix(f"{ROOT}/").rpartition(_SITE)[2]
    return path.startswith(file) and function in {"", frame.function}


def counted(stacks: Iterable[PythonStack]) -> Counter[tuple[str, str]]:
    """Samples by (activity, cause)."""
    return Counter((activity(stack), cause(stack)) for stack in stacks)


def hottest(stacks: Iterable[PythonStack]) -> Counter[tuple[str, str]]:
    """Samples by activity, and by our innermost function and its current line."""
    costs: Counter[tuple[str, str]] = Counter()
    for stack in stacks:
        ours = next((frame for frame in stack if _cause(frame.file) in {OURS, "HTTP server"}), None)
        if ours is not None:
            file = ours.file.removeprefix(f"{ROOT}/")
            costs[activity(stack), f"{file}:{ours.line} {ours.function}"] += 1
    return costs


INTERVAL = 4.0  # ms of CPU between samples, like in `inside.sitecustomize`
SAMPLE = "sample"


class Control:
    """The processes' samples, in files of a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir()
        self._kept: dict[Path, list[tuple[int, int]]] = {}  # parts of files with good samples

    def environ(self) -> dict[str, str]:
        return {"PYTHONPATH": INSIDE, "KVITOK_PROFILE": str(self._folder)}

    def positions(self) -> dict[Path, int]:
        """The size of each process' file in bytes."""
        return {file: file.stat().st_size for file in self._folder.glob("*.stacks")}

    def keep(self, start: Mapping[Path, int]) -> None:
        """Keeps the samples written since `start`."""
        for file, end in self.positions().items():
            self._kept.setdefault(file, []).append((start.get(file, 0), end))

    def stacks(self, names: Mapping[int, str]) -> dict[str, list[PythonStack]]:
        """All kept samples, by process."""
        stacks: dict[str, list[PythonStack]] = {}
        for file, parts in self._kept.items():
            if (name := names.get(int(file.stem))) is not None:
                written = file.read_bytes()
                for start, end in parts:
                    text = written[start:end].decode("utf-8", errors="replace")
                    stacks.setdefault(name, []).extend(parse(text))
        return stacks
