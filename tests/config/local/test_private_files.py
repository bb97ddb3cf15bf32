"""Files of a development run are readable by their owner only, older ones included."""

import stat
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.mail import EmailMessage, get_connection
from pytest_django import Settings

from config.environment.variables import ROOT
from config.local.preflight import FOLDERS, make_private
from config.local.processes import spawn
from tests.config.test_settings import GOOD
from tools.simulator.logs import MessageLog


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def open_to_others(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.parent.chmod(0o755)
    path.write_text("secret", encoding="utf-8")
    path.chmod(0o644)
    return path


def test_folders_are_made_private(tmp_path: Path) -> None:
    make_private(tmp_path)

    assert {mode(tmp_path / name) for name in FOLDERS} == {0o700}


@pytest.mark.parametrize(
    "name",
    [
        "mail/20261122.log",
        "log/web.log",
        "log/web.log.1",
        "metrics/counter.db",
        "demo.json",
        "environment.json",
        "secrets.json",
        "simulator.sqlite3",
        "simulator.sqlite3-wal",
        "simulator.sqlite3.lock",
        "beat-schedule",
        "lock",
    ],
)
def test_files_of_an_earlier_run_are_taken_from_others(tmp_path: Path, name: str) -> None:
    path = open_to_others(tmp_path / name)

    make_private(tmp_path)

    assert mode(path) == 0o600
    assert path.parent == tmp_path or mode(path.parent) == 0o700


def test_what_is_not_ours_stays_as_it_was(tmp_path: Path) -> None:
    foreign = open_to_others(tmp_path / "notes.txt")
    target = open_to_others(tmp_path / "elsewhere" / "target")
    (tmp_path / "mail").mkdir()
    (tmp_path / "mail" / "link").symlink_to(target)

    make_private(tmp_path)

    assert {mode(foreign), mode(target)} == {0o644}
    assert mode(tmp_path) == 0o755


def test_emails_are_written_for_the_user_alone(tmp_path: Path, settings: Settings) -> None:
    settings.EMAIL_FILE_PATH = tmp_path / "mail"
    old = open_to_others(tmp_path / "mail" / "old.log")

    connection = get_connection("config.local.file_email_backend.EmailBackend")
    EmailMessage("Subject", "Link", to=["a@example.com"], connection=connection).send()

    emails = list((tmp_path / "mail").iterdir())
    assert (len(emails), {mode(email) for email in emails}) == (2, {0o600})
    assert mode(old.parent) == 0o700


def test_development_writes_emails_that_way() -> None:
    code = "from config import settings; print(settings.EMAIL_BACKEND)"

    output = subprocess.check_output(
        [sys.executable, "-c", code], cwd=ROOT, env=GOOD | {"ENVIRONMENT": "development"}, text=True
    )

    assert output.strip() == "config.local.file_email_backend.EmailBackend"


def test_simulators_log_is_for_the_user_alone(tmp_path: Path) -> None:
    path = open_to_others(tmp_path / "place" / "simulator.sqlite3")
    path.write_bytes(b"")

    log = MessageLog(path)
    files = {one.name: mode(one) for one in path.parent.iterdir()}
    log.close()

    assert set(files) >= {"simulator.sqlite3", "simulator.sqlite3.lock"}
    assert set(files.values()) == {0o600}


def test_children_write_for_the_user_alone(tmp_path: Path) -> None:
    code = "open('made', 'w').write('x')"

    child = spawn([sys.executable, "-c", code], log=tmp_path / "child.log", cwd=tmp_path)

    assert child.wait(20) == 0
    assert {mode(tmp_path / name) for name in ("made", "child.log")} == {0o600}
