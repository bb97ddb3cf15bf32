"""Results as a table and as JSON."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tools.examples.toolchains import STEMS


@dataclass
class LanguageResult:
    """What became of the examples of a language."""

    language: str
    version: str = ""
    missing: str = ""  # what kept all of them from running
    broken: str = ""  # the compiler's output
    failures: dict[str, str] = field(default_factory=dict)
    passed: list[str] = field(default_factory=list)

    @property
    def is_good(self) -> bool:
        """Nothing that could run failed."""
        return not self.broken and not self.failures

    def word(self, stem: str) -> str:
        if stem in self.passed:
            return "yes"
        return "NO" if self.broken or stem in self.failures else "–"

    def as_dict(self) -> dict[str, Any]:
        return {
            "language": self.language,
            "toolchain": self.version,
            "missing": self.missing,
            "broken": self.broken,
            "passed": self.passed,
            "failures": self.failures,
        }


def table(outcomes: Sequence[LanguageResult]) -> str:
    """In Markdown."""
    rows = [["language", *STEMS, "run with"]]
    rows += [
        [one.language, *map(one.word, STEMS), one.version or f"not run: {one.missing}"]
        for one in outcomes
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [_line(row, widths) for row in rows]
    return "\n".join([lines[0], _line(["-" * width for width in widths], widths), *lines[1:]])


def _line(cells: Iterable[str], widths: Sequence[int]) -> str:
    padded = (cell.ljust(width) for cell, width in zip(cells, widths, strict=True))
    return f"| {' | '.join(padded)} |"


def reasons(outcomes: Iterable[LanguageResult]) -> list[str]:
    """Why, for everything that failed or did not run."""
    lines = []
    for one in outcomes:
        if one.missing:
            lines.append(f"{one.language} was not run: {one.missing}")
        if one.broken:
            lines.append(f"{one.language} does not compile:\n{one.broken}")
        lines += [f"{one.language}/{stem}: {why}" for stem, why in one.failures.items()]
    return lines
