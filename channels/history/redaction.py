"""A vendor's raw words as a person can read them, with nothing in them that opens a door."""

import json
import re
from urllib.parse import parse_qsl

# A number of 4 to 8 digits on its own may be a one-time code that the vendor echoes.
# A line break before it is written as two characters of JSON, the second of them a letter.
_CODE = re.compile(r"(?:(?<![\w.])|(?<=\\[nrt]))\d{4,8}(?!\w)(?!\.\d)")
MAX_LENGTH = 8_000  # characters


def redact(raw: bytes) -> str:
    """JSON indented, a form one field a line; codes masked."""
    text = raw.decode(errors="replace").replace("\0", "")
    try:
        shown = json.dumps(json.loads(text), ensure_ascii=False, indent=2)
    except ValueError:
        pairs = parse_qsl(text)
        shown = "\n".join(f"{name} = {value}" for name, value in pairs) or text
    return _CODE.sub("••••", shown)[:MAX_LENGTH]
