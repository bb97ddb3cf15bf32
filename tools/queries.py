"""The statements of a `.sql` file, each beneath its name: `--: name: what it is about`."""

from pathlib import Path
from typing import NamedTuple


class Query(NamedTuple):
    name: str
    about: str
    text: str


def queries(python_file: str, name: str = "") -> dict[str, Query]:
    """The queries of a file next to a module, by name and in order."""
    path = Path(python_file).with_name(name) if name else Path(python_file).with_suffix(".sql")
    queries_found = {}
    for part in path.read_text(encoding="utf-8").split("--: ")[1:]:
        head, _, text = part.partition("\n")
        title, _, description = head.partition(": ")
        queries_found[title] = Query(title, description, text.strip())
    return queries_found
