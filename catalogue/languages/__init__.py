"""Languages: a folder `<tag>` for each with `messages.toml`; those of pages also have `pages.toml`.

`message_languages` are for messages to people's phones, `page_languages` for pages and the API.
"""

import tomllib
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


def read_texts(code: str, name: str) -> dict[str, Any]:
    return tomllib.loads((FOLDER / code / name).read_text(encoding="utf-8"))
