"""The web process as production starts it, behind a proxy that terminates TLS."""

import os
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import requests

from accounts.models import Mode
from config.environment.variables import ROOT
from config.local.processes import spawn
from links.models import Link
from tests.config.environment.safe_variables import SAFE
from tests.factories import ApiKeyFactory, LinkFactory
from tests.ports import free_port
from tests.stack.programs import Program
from tests.stack.stack import Stack

HOST = "kvitok.example"
HTTPS = {"X-Forwarded-Proto": "https", "X-Forwarded-For": "198.51.100.9"}
HSTS = "max-age=31536000; includeSubDomains; preload"
KEPT = ("PATH", "PYTHONDONTWRITEBYTECODE", "PYTHONPYCACHEPREFIX", "REDIS_URL", "HOME")
URL = "https://example.com/"


@pytest.fixture(scope="module")
def production(running_stack: Stack, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    folder = tmp_path_factory.mktemp("production")
    url = f"http://127.0.0.1:{free_port()}"
    environ = {name: os.environ[name] for name in KEPT if name in os.environ} | SAFE
    environ |= {"DATABASE_URL": running_stack.web.environ["DATABASE_URL"]}
    environ |= {"STATIC_ROOT": str(folder), "VAR_DIR": str(folder), "TRUSTED_PROXY_COUNT": "1"}
    _collect_static(folder, environ)
    port = url.rpartition(":")[2]
    command = ["-m", "config.web_server", "--host", "127.0.0.1", "--port", port]
    program = Program(command, log=folder / "web.log", environ=environ, url=f"{url}/livez")
    program.start()
    yield program
    program.terminate()
    program.wait_stopped()
    assert program.new_errors() == []


def _collect_static(folder: Path, environ: dict[str, str]) -> None:
    command = [sys.executable, "manage.py", "collectstatic", "--noinput"]
    assert spawn(command, log=folder / "static.log", env=environ, cwd=ROOT).wait(120) == 0


def ask(
    production: Program, path: str, *, method: str = "GET", key: str = "", **headers: str
) -> requests.Response:
    named = {name.replace("__", "-"): value for name, value in headers.items()}
    bearer = {"Authorization": f"Bearer {key}"} if key else {}
    return requests.request(
        method,
        production.url.removesuffix("/livez") + path,
        headers={"Host": HOST} | bearer | named,
        json={"url": URL} if method == "POST" else None,
        allow_redirects=False,
        timeout=20,
    )


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/HttpsLink", 302),
        ("/NoSuchLink", 404),
        ("/api/v1/balance", 401),
        ("/livez", 200),
        ("/readyz", 200),
        ("/account/login/", 200),
        ("/hooks/whatsapp", 404),
    ],
)
def test_every_answer_has_hsts_and_nosniff(production: Program, path: str, status: int) -> None:
    if status == 302:
        LinkFactory.create(slug="HttpsLink")

    response = ask(production, path, **HTTPS)

    assert response.status_code == status
    assert response.headers["Strict-Transport-Security"] == HSTS
    assert response.headers["X-Content-Type-Options"] == "nosniff"


def test_api_over_plain_http_has_no_effect(production: Program) -> None:
    key = ApiKeyFactory.create().plaintext
    before = Link.objects.count()

    response = ask(production, "/api/v1/links/shorten", method="POST", key=key)

    assert (response.status_code, response.json()["code"]) == (403, "https_required")
    assert Link.objects.count() == before
    again = ask(production, "/api/v1/links/shorten", method="POST", key=key, **HTTPS)
    assert again.status_code == 200


@pytest.mark.parametrize("path", ["/", "/account/login/", "/HttpsLink", "/static/site.css"])
def test_pages_in_the_clear_lead_to_https(production: Program, path: str) -> None:
    response = ask(production, path)

    assert response.status_code == 301
    assert response.headers["Location"] == f"https://{HOST}{path}"


@pytest.mark.parametrize("path", ["/livez", "/readyz"])
def test_probes_work_over_plain_http(production: Program, path: str) -> None:
    assert ask(production, path).status_code == 200


def test_underscores_do_not_pass_for_https(production: Program) -> None:
    headers = {"X-Forwarded-Proto": "http", "X_Forwarded_Proto": "https"}

    assert ask(production, "/api/v1/balance", **headers).status_code == 403


@pytest.mark.parametrize("name", ["X_Forwarded_For", "X_FORWARDED-FOR", "X-Forwarded_For"])
def test_underscores_do_not_pass_an_allow_list(production: Program, name: str) -> None:
    key = ApiKeyFactory.create(allowed_ips=["10.0.0.1"], mode=Mode.TEST).plaintext

    response = ask(production, "/api/v1/channels", key=key, **HTTPS | {name: "10.0.0.1"})

    assert (response.status_code, response.json()["code"]) == (403, "forbidden")


def test_second_line_does_not_pass_an_allow_list(production: Program) -> None:
    key = ApiKeyFactory.create(allowed_ips=["10.0.0.1"], mode=Mode.TEST).plaintext
    lines = ["X-Forwarded-For: 10.0.0.1", "X-Forwarded-For: 198.51.100.9", "Connection: close"]
    lines += ["X-Forwarded-Proto: https", f"Authorization: Bearer {key}", f"Host: {HOST}"]

    response = _say(production, "\r\n".join(["GET /api/v1/channels HTTP/1.1", *lines, "", ""]))

    assert response.startswith(b"HTTP/1.1 403")


def _say(production: Program, text: str) -> bytes:
    place = urlsplit(production.url)
    with socket.create_connection((place.hostname, place.port or 80), timeout=20) as connection:
        connection.sendall(text.encode("latin-1"))
        result = b""
        while part := connection.recv(65_536):
            result += part
    return result
