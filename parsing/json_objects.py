"""JSON objects from outside."""

import json
from typing import Any


def read_object(body: bytes | str) -> dict[str, Any]:
    """The object of a notice or an answer; raises ValueError, however deep it is nested."""
    try:
        value = json.loads(body)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    if not isinstance(value, dict):
        raise ValueError("not an object")  # noqa: TRY004 - of the body, not of an argument
    return value
