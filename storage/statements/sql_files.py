"""Reads SQL statements from `.sql` files, each next to the function that runs it.

`{name}` is a placeholder for a part that differs between calls, or for a fragment of another
package.
"""

import re
from collections.abc import Mapping
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
_COMMENT = re.compile(r"--.*")
_PLACEHOLDER = re.compile(r"\{(\w+)\}")


def read(path: str) -> str:
    """The statement of a file; the path is relative to the repository."""
    return compact((_ROOT / path).read_text(encoding="utf-8"))


def read_several(path: str, **fragments: str) -> dict[str, str]:
    """The statements of a file, each beneath its `--: name`, with these fragments filled in.

    They may also name statements above them.
    """
    statements: dict[str, str] = {}
    for part in (_ROOT / path).read_text(encoding="utf-8").split("--: ")[1:]:
        name, _, statement = part.partition("\n")
        statements[name] = fill(statement, **fragments, **statements)
    return statements


def compact(statement: str) -> str:
    """The statement without comments and spaces: less to send where it is prepared."""
    return " ".join(_COMMENT.sub("", statement).split())


def fill(statement: str, **texts: str) -> str:
    """The statement with these texts in place of its placeholders; each must be given."""
    return compact(_PLACEHOLDER.sub(lambda placeholder: texts[placeholder[1]], statement))


def more_ctes(queries: Mapping[str, str]) -> str:
    """These queries by name, to follow the CTEs of a statement."""
    return "".join(f", {name} AS ({query})" for name, query in queries.items())
