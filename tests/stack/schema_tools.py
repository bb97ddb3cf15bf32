"""npm tools that lint the OpenAPI schema, and what the JavaScript examples import.

`python -m tests.stack.schema_tools` installs them into var/; tests that need them are skipped where
they are not.
"""

import sys
from pathlib import Path

from config.environment.variables import ROOT
from tools.examples.languages import (
    LANGUAGES,
    BuildError,
    MissingError,
    Workspace,
    npm,
    tool,
    version,
)

PACKAGES = ("@redocly/cli@2.77.0", "@stoplight/spectral-cli@6.16.3")
PLACE = Workspace(ROOT / "docs/examples", ROOT / "var/examples/schema-tools")
MODULES = PLACE.build / "node_modules"
OLDEST_NODE = (20, 19)  # what redocly asks for


def find(name: str) -> Path:
    """The command of that name; raises MissingError."""
    _text, numbers = version(tool("node"), "--version")
    if numbers < OLDEST_NODE:
        raise MissingError("Node.js 20.19 or newer")
    command = MODULES / ".bin" / name
    if not command.exists():
        raise MissingError(f"no {name}: python -m tests.stack.schema_tools")
    return command


def install() -> None:
    npm(PLACE, ["--ignore-scripts", *PACKAGES])
    javascript = next(language for language in LANGUAGES if language.name == "javascript")
    javascript.install(javascript.place)


if __name__ == "__main__":
    try:
        install()
    except (BuildError, MissingError) as error:
        sys.exit(str(error))
