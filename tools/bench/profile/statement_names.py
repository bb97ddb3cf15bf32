"""Names SQL statements by the constants of the service that hold their text."""

import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache

PACKAGES = ("accounts", "billing", "channels", "config", "links", "otp", "persons")
_COMMENT = re.compile(r"--.*")
_PARAMETER = re.compile(r"\$\d+|%\(\w+\)[sbt]|%[sbt]")
# What `config.storage.months.recent_ids.within` fills in, and with what.
_MONTHS = re.compile(
    r":(?:first_id|last_id|start|end)\b|'[0-9a-f-]{36}'|'\d{4}-\d\d-01 00:00:00\+00:00'"
)
_HOLE = re.compile(r"\\\{\w*\\\}")
_TABLE = re.compile(r'\b(?:FROM|INTO|UPDATE)\s+"?(\w+)"?', re.IGNORECASE)
_SHORTEST = 20  # characters of a constant that may be a statement
_SQL = ("SELECT", "WITH", "INSERT", "UPDATE", "DELETE")


def normalized(text: str) -> str:
    """Without comments and the difference between our placeholders and the server's."""
    one_line = " ".join(_COMMENT.sub("", text).split())
    return _PARAMETER.sub("?", _MONTHS.sub("?", one_line)).replace("%%", "%")


class StatementNames:
    """`constants` by name: the text as it is executed, or with `{}` where text is filled in."""

    def __init__(self, constants: Mapping[str, str]) -> None:
        self._whole: dict[str, str] = {}
        self._templates: list[tuple[int, re.Pattern[str], str]] = []
        for name, text in constants.items():
            plain = normalized(text)
            holes = re.escape(plain)
            if _HOLE.search(holes):
                pattern = re.compile(_HOLE.sub(".*", holes))
                self._templates.append((len(plain), pattern, name))
            else:
                self._whole.setdefault(plain, name)
        self._templates.sort(key=lambda each: -each[0])
        self.of = cache(self._of)

    @classmethod
    def of_service(cls) -> "StatementNames":
        """Of all modules of the service that are imported."""
        return cls(dict(_constants()))

    def _of(self, text: str) -> str:
        plain = normalized(text)
        if plain in self._whole:
            return self._whole[plain]
        for _length, pattern, name in self._templates:
            if pattern.fullmatch(plain):
                return name
        verb = plain.split(" ", 1)[0].upper().rstrip(";")
        table = _TABLE.search(plain)
        return f"{verb} {table[1]}" if table else " ".join(plain.split()[:4])


def _constants() -> Iterator[tuple[str, str]]:
    for module_name, module in sorted(sys.modules.items()):
        if module_name.partition(".")[0] in PACKAGES:
            for name, value in vars(module).items():
                if isinstance(value, str) and _is_statement(value):
                    yield f"{module_name}.{name}", value


def _is_statement(text: str) -> bool:
    return len(text) > _SHORTEST and normalized(text).startswith(_SQL)
