"""Reads SQL statements from `.sql` files, each next to the function that runs it.

`{name}` is a placeholder for a part that differs between calls, or for a fragment of another
package.
"""

import re
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[2]
_COMMENT = re.compile(r"--.*")
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
# The form that the files use; the limit is explained in `json_rows`.
_JSON_ROWS = re.compile(
    r"MATERIALIZED \( SELECT \* FROM json_to_recordset\((%\(\w+\)s::json)\) AS \w+\(\s?(.+?)\)"
    r" LIMIT json_array_length\(\1\)\)"
)


def read(path: str) -> str:
    """The statement of a file; the path is relative to the repository."""
    return compact((_ROOT / path).read_text(encoding="utf-8"))


def read_several(path: str, **fragments: str) -> dict[str, str]:
    """The statements of a file, each beneath its `--: name`, with these fragments filled in; they
    may also name statements above them.
    """
    texts = dict(fragments)
    for part in (_ROOT / path).read_text(encoding="utf-8").split("--: ")[1:]:
        name, _, statement = part.partition("\n")
        texts[name] = fill(statement, **texts)
    return texts


def compact(statement: str) -> str:
    """Strips comments and spaces: less to send for each connection that prepares it."""
    return " ".join(_COMMENT.sub("", statement).split())


def fill(statement: str, **texts: str) -> str:
    """The statement with these texts in place of its placeholders; each must be given."""
    return compact(_PLACEHOLDER.sub(lambda placeholder: texts[placeholder[1]], statement))


def with_scalar_params(statement: str) -> str:
    """The statement with a parameter for each column of one row in place of its JSON.

    JSON costs a single send 60 µs more, a fifth of its statement's time.
    """
    changed, count = _JSON_ROWS.subn(
        lambda rows: f"NOT MATERIALIZED (SELECT {scalar_params(rows[2])})", statement
    )
    if count != 1:
        raise ValueError(f"reads JSON rows {count} times, as _JSON_ROWS has them: {statement[:60]}")
    return changed


def scalar_params(columns: str) -> str:
    """Parameters with the names and types of columns, in the form of `_JSON_ROWS`."""
    pairs = (column.split() for column in columns.replace("\n", " ").split(", "))
    return ", ".join(f"%({name})s::{kind} AS {name}" for name, kind in pairs)
