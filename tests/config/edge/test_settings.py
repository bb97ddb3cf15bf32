"""An edge starts with its own few secrets, and with no key of the service."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from config.environment.production_checks import ENVIRONMENTS
from config.environment.variables import KEYRINGS, ROOT

TOKEN = "ams:mF8zWq2Lx9Rt4Yp7Kc1Vb6Nj3Hs5Dg0T"
GOOD = {
    "PATH": os.environ["PATH"],
    "DJANGO_SETTINGS_MODULE": "config.edge.settings",
    "PUBLIC_URL": "https://kvitok.test",
    "SHORT_URL": "https://go.test",
    "REDIS_URL": "redis://edge:password@127.0.0.1:1/0",
    "EDGE_TOKEN": TOKEN,
}
START = "import django; django.setup()"
PAGE = """
import config.edge.wsgi as edge
environ = {"REQUEST_METHOD": "GET", "PATH_INFO": "/", "HTTP_HOST": "go.test"}
environ["wsgi.url_scheme"] = "https"
print(b"".join(edge.application(environ, lambda *words: print(*words))).decode())
"""


def run(code: str, **changes: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=GOOD | changes,
        text=True,
        capture_output=True,
        check=False,
    )


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_good_settings_start(environment: str) -> None:
    started = run(START, ENVIRONMENT=environment)

    assert (started.returncode, started.stderr) == (0, "")


@pytest.mark.parametrize("name", [*KEYRINGS, "DATABASE_URL", "SECRET_KEY", "EDGE_TOKENS"])
def test_key_of_the_service_is_refused_unquoted(name: str) -> None:
    refused = run(START, **{name: TOKEN})

    assert f"no edge may hold {name}" in refused.stderr
    assert TOKEN not in refused.stderr


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"SHORT_URL": "https://kvitok.test"}, "SHORT_URL needs a host of its own"),
        ({"SHORT_URL": "http://go.test"}, "SHORT_URL is unset or not https"),
        ({"EDGE_ORIGIN_URL": "http://10.0.0.5:8000"}, "EDGE_ORIGIN_URL is not https"),
        ({"EDGE_TOKEN": ""}, "EDGE_TOKEN must hold at least one id:secret"),
        ({"EDGE_TOKEN": f"{TOKEN},sgp:{TOKEN}"}, "EDGE_TOKEN is one id:secret"),
        ({"EDGE_TOKEN": f"ams:{'ab' * 20}"}, "EDGE_TOKEN has fewer than"),
        ({"EDGE_REPLICA_URL": "redis+sentinel://a:1/b/0"}, "names the replica itself"),
        ({"EDGE_MAX_STALENESS": "9"}, "EDGE_MAX_STALENESS must be 10 or more"),
        ({"REDIS_URL": "http://redis"}, "REDIS_URL: must begin with"),
    ],
)
def test_settings_that_cannot_work_are_refused(changes: dict[str, str], words: str) -> None:
    refused = run(START, **changes)

    assert words in refused.stderr.strip().splitlines()[-1]


def test_production_serves_the_page_with_its_collected_stylesheet(tmp_path: Path) -> None:
    without = run(PAGE, STATIC_ROOT=str(tmp_path))
    subprocess.run(
        [sys.executable, "-m", "django", "collectstatic", "--noinput", "-v", "0"],
        cwd=ROOT,
        env=GOOD | {"STATIC_ROOT": str(tmp_path)},
        check=True,
    )
    served = run(PAGE, STATIC_ROOT=str(tmp_path))

    assert "links.css" in without.stderr.splitlines()[-1]
    assert served.stdout.startswith("404 Not Found")
    assert "Strict-Transport-Security" in served.stdout
    assert '<link rel="stylesheet" href="https://kvitok.test/static/links.' in served.stdout
