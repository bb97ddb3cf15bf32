"""PostgreSQL arrays as text, for parameters of hot statements; `%s::text[]` reads them.

psycopg writes lists in Python, which costs a request 20 to 40 µs each.
"""

from collections.abc import Iterable


def array_text(values: Iterable[str | bytes]) -> str:
    return "{" + ",".join(map(_element, values)) + "}"


def _element(value: str | bytes) -> str:
    text = f"\\x{value.hex()}" if isinstance(value, bytes) else value
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
