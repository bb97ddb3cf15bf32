"""The client's side of a real OpenID Connect provider: starts it, and signs people in there."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import requests

CLIENT_ID = "kvitok:tests"  # with characters that HTTP authentication has to encode
SECRET = "s3cret/with:signs+and=more"
CALLBACK = "/account/sso/callback"


class IdentityProvider:
    """People have their names as passwords, and addresses at example.com."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self.issuer = self._read()

    def accept(self, public_url: str) -> None:
        """Allows only this address for the way back."""
        self._tell("client", redirect_uris=[public_url + CALLBACK])

    def person(self, name: str, *groups: str) -> None:
        """Creates a user, or puts one into these groups only."""
        self._tell("person", name=name, groups=list(groups))

    def _tell(self, command: str, **arguments: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps([command, arguments]) + "\n")
        self._process.stdin.flush()
        assert self._read() == "done"

    def _read(self) -> str:
        assert self._process.stdout is not None
        line: str = self._process.stdout.readline()
        return line.strip()


@contextmanager
def running() -> Iterator[IdentityProvider]:
    command = [sys.executable, "-m", "tests.identity_provider"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield IdentityProvider(process)
        finally:
            process.terminate()


def enter(browser: requests.Session, url: str, name: str) -> str:
    """Signs in on the provider's pages; returns the address that they lead back to."""
    response = browser.get(url, allow_redirects=False)
    for _ in range(12):
        to = response.headers.get("Location", "")
        if urlsplit(to).path == CALLBACK:
            return to
        if to:
            response = browser.get(_absolute(response.url, to), allow_redirects=False)
        else:
            response = browser.post(response.url, _form(response.text, name), allow_redirects=False)
    raise AssertionError(f"{response.url} leads nowhere: {response.status_code}")


def _form(page: str, name: str) -> dict[str, str]:
    fields = dict.fromkeys(re.findall(r'<input[^>]* name="(\w+)"', page), name)
    token = re.search(r'name="csrf_token"[^>]* value="([^"]+)"', page)
    return fields | ({"csrf_token": token[1]} if token else {})


def _absolute(here: str, to: str) -> str:
    url = urlsplit(here)
    return to if urlsplit(to).netloc else f"{url.scheme}://{url.netloc}{to}"
