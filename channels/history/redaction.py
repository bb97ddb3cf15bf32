"""Redacts vendors' payloads for display: masks the codes that a vendor echoes."""

import json
import re
from urllib.parse import parse_qsl

from parsing.characters import stored_text

# A separate number of 4 to 8 digits may be a one-time code that the vendor echoes. A line break
# before it is an escape in JSON, whose second character is a letter.
_CODE = re.compile(r"(?:(?<![\w.])|(?<=\\[nrt]))\d{4,8}(?!\w)(?!\.\d)")
MAX_LENGTH = 8_000  # characters


def redact(raw: bytes) -> str:
    """The payload as text with masked codes: JSON indented, each field of a form on its line."""
    text = raw.decode(errors="replace").replace("\0", "")
    try:
        redacted = json.dumps(json.loads(text), ensure_ascii=False, indent=2)
    except (ValueError, RecursionError):  # not JSON, or nested deeper than Python follows
        pairs = parse_qsl(text)
        redacted = "\n".join(f"{name} = {value}" for name, value in pairs) or text
    return stored_text(_CODE.sub("••••", redacted), MAX_LENGTH)
