"""The shared numbers, codes and cases of the programs that play other services' clients.

It needs only the standard library, since they run in the judges' own environment.
"""

import json
import sys
import time
from collections.abc import Callable, Mapping
from http.client import HTTPConnection
from typing import Any
from urllib.parse import quote, urlsplit

_NUMBERS = iter(range(int(time.time()) % 10_000_000, 10**9))


def new_phone(ending: str = "0000") -> str:
    """A number that no case before has used; of some endings the service plays refusals."""
    return f"+7916{next(_NUMBERS) % 1000:03d}{ending}"


def code_at(address: str, reader: str, number: str) -> str:
    """The code that the phone shows. `reader` is an ordinary test key of the same company."""
    connection = HTTPConnection(urlsplit(address).netloc)
    path = f"/api/v1/test/messages?limit=1&phone={quote('+' + number.removeprefix('+'), safe='')}"
    connection.request("GET", path, headers={"Authorization": f"Bearer {reader}"})
    (message,) = json.load(connection.getresponse())["data"]
    return str(message["code"])


def wrong(code: str) -> str:
    return code[:-1] + str((int(code[-1]) + 1) % 10)


def equal(found: object, expected: object) -> None:
    assert found == expected, f"{found!r}, not {expected!r}"


def run_cases(names: Mapping[str, Any]) -> int:
    """Runs the functions that begin with `case_`; returns what the program exits with."""
    cases: dict[str, Callable[[], None]] = {
        name: case for name, case in names.items() if name.startswith("case_")
    }
    failed = 0
    for name, case in cases.items():
        try:
            case()
        except Exception as error:
            failed += 1
            sys.stdout.write(f"FAILED {name}: {type(error).__name__}: {error}\n")
    sys.stdout.write(f"{len(cases) - failed} cases passed, {failed} failed\n")
    return 1 if failed else 0
