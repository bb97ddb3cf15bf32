"""The statements of a `.sql` file, each beneath its name: `--: name: what it is about`."""

from pathlib import Path
from typing import NamedTuple


class Query(NamedTuple):
    name: str
    about: str
    text: str


def queries(python_file: str, name: str = "") -> dict[str, Query]:
    """Of the file beside a module, or of another one there, by their names and in their order."""
    path = Path(python_file).with_name(name) if name else Path(python_file).with_suffix(".sql")
    found = {}
    for part in path.read_text(encoding="utf-8").split("--: ")[1:]:
        head, _, text = part.partition("\n")
        title, _, about = head.partition(": ")
        found[title] = Query(title, about, text.strip())
    return found
