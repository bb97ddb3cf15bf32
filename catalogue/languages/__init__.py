"""Languages: a folder `<tag>` for each, with `messages.toml`; those of the pages have `pages.toml`.

`message_languages` are those of messages, which people with a phone get, `page_languages` those of
the pages and the API.
"""

import tomllib
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


def read_texts(code: str, name: str) -> dict[str, Any]:
    return tomllib.loads((FOLDER / code / name).read_text(encoding="utf-8"))
