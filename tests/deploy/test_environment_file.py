"""`.env.example` means the same to systemd, to a shell and to the service."""

import json
import re
import subprocess
import sys

import pytest

from config.environment.variables import ROOT
from tests.config.environment.safe_variables import SAFE
from tests.deploy.environment_file import parse

EXAMPLE = (ROOT / ".env.example").read_text(encoding="utf-8")
OWN = {
    "REDIS_URL": "redis://127.0.0.1:1",
    "SHORT_URL": "https://go.kvitok.test",
    "DATABASE_URL": "postgresql://kvitok:a-long-password@db/kvitok",
}
PATHS = ("VAR_DIR", "METRICS_DIR", "STATIC_ROOT")
PRINT = """
import django, json; django.setup()
from django.conf import settings
names = ("VAR_DIR", "METRICS_DIR", "STATIC_ROOT", "DEFAULT_FROM_EMAIL", "SEND_WAITERS")
print(json.dumps({name: str(getattr(settings, name)) for name in names}))
"""


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("A=1 # one\n", {"A": "1 # one"}),
        ("# A=1\n;B=2\n\n  C = 3  \n", {"C": "3"}),
        ("A=\"x y\" \nB='$x'\nC=a\\\nb\n", {"A": "x y", "B": "$x", "C": "ab"}),
        ('A="a\\"b\\\\"\nB=a"b c"d', {"A": 'a"b\\', "B": "ab cd"}),
        ("# goes on \\\nA=1\nB=\n", {"B": ""}),
    ],
)
def test_reader_follows_systemd(text: str, values: dict[str, str]) -> None:
    assert parse(text) == values


def test_systemd_and_sh_read_the_same_values() -> None:
    script = 'set -a; . "$1"; env -0'
    printed = subprocess.check_output(
        ["/bin/sh", "-c", script, "sh", ROOT / ".env.example"], env={}, text=True
    )
    by_shell = dict(pair.split("=", 1) for pair in printed.split("\0") if pair)

    result = parse(EXAMPLE)

    assert len(result) > 100
    assert {name: by_shell.get(name) for name in result} == result
    assert [value for value in result.values() if "#" in value] == []


def test_example_omits_variables_set_by_units() -> None:
    """For systemd a file of variables overrides `Environment=`."""
    units = "".join(path.read_text("utf-8") for path in (ROOT / "deploy/systemd").glob("*.service"))
    lines = re.findall(r"^Environment=(.*)$", units, re.MULTILINE)
    set_by_units = {pair.partition("=")[0] for line in lines for pair in line.split()}

    assert {"VAR_DIR", "METRICS_DIR"} <= set_by_units
    assert set_by_units & parse(EXAMPLE).keys() == set()


def test_service_starts_with_the_example_as_systemd_reads_it() -> None:
    result = start(parse(EXAMPLE))

    assert result["DEFAULT_FROM_EMAIL"] == "Kvitok <no-reply@example.com>"
    assert result["SEND_WAITERS"] == "48"


def test_empty_directories_are_the_default_ones() -> None:
    result = start(dict.fromkeys(PATHS, ""))

    assert [result[name] for name in PATHS] == [
        str(ROOT / "var"),
        str(ROOT / "var/metrics"),
        str(ROOT / "staticfiles"),
    ]


def start(environ: dict[str, str]) -> dict[str, str]:
    environ = environ | SAFE | OWN | {"DJANGO_SETTINGS_MODULE": "config.settings"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PRINT],
        cwd=ROOT,
        env=environ,
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    loads: dict[str, str] = json.loads(done.stdout)
    return loads
