"""JSON objects from outside."""

import json
from typing import Any


def read_object(body: bytes | str) -> dict[str, Any]:
    """Parses a JSON object; raises ValueError for anything else, and if it is nested too deeply."""
    try:
        value = json.loads(body)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(value, dict):
        raise ValueError("not an object")  # noqa: TRY004 - not an argument's type
    return value
