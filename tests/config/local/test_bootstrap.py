"""The local start prepares the environment, catalogues, ports and private folders."""

import gettext
import shutil
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from config.local.checkout import CHECKOUT
from config.local.preflight import FOLDERS, check_port, make_private, number
from config.local.processes import StartError, spawn

HEADER = 'msgid ""\nmsgstr "Content-Type: text/plain; charset=UTF-8\\n"\n'


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("checkout")
    (made / "config" / "local").mkdir(parents=True)
    (made / "requirements").mkdir()
    shutil.copy(CHECKOUT / "config" / "local" / "bootstrap.py", made / "config" / "local")
    for name in ("base", "dev"):
        (made / "requirements" / f"{name}.txt").write_text("")
    return made


def ensure(checkout: Path, name: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-I", str(checkout / "config" / "local" / "bootstrap.py"), name]
    return subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)


def test_environment_is_remade_when_lock_changes(checkout: Path) -> None:
    first = ensure(checkout, "dev")
    assert (first.returncode, first.stderr.count("Making .venv")) == (0, 1)

    # All of base is in dev, so there is nothing left to install for it.
    assert ensure(checkout, "base").stderr == ""

    # A lock that cannot be had must not pass for installed the next time.
    (checkout / "requirements" / "dev.txt").write_text(f"./no.whl --hash=sha256:{'0' * 64}\n")
    failed = ensure(checkout, "dev")
    assert failed.returncode == 1
    assert failed.stderr.endswith("could not be installed: see above, then try again\n")
    assert (checkout / ".venv" / "dev.installed").read_text() == ""


def test_catalogue_is_compiled_when_its_source_changed(checkout: Path) -> None:
    (checkout / "requirements" / "dev.txt").write_text("")
    assert ensure(checkout, "dev").returncode == 0
    pybabel = checkout / ".venv" / "bin" / "pybabel"
    pybabel.symlink_to(CHECKOUT / ".venv" / "bin" / "pybabel")
    source = checkout / "locale" / "ru" / "LC_MESSAGES" / "django.po"
    source.parent.mkdir(parents=True)

    for text in ("Код", "Ссылка"):
        source.write_text(f'{HEADER}\nmsgid "text"\nmsgstr "{text}"\n', encoding="utf-8")
        assert ensure(checkout, "dev").returncode == 0
        with source.with_suffix(".mo").open("rb") as compiled:
            assert gettext.GNUTranslations(compiled).gettext("text") == text

    written_at = source.with_suffix(".mo").stat().st_mtime_ns
    assert ensure(checkout, "dev").returncode == 0
    assert source.with_suffix(".mo").stat().st_mtime_ns == written_at
    assert len(list(source.parent.iterdir())) == 2


@pytest.mark.parametrize("shared", [False, True])
def test_used_port_is_refused_even_if_shareable(*, shared: bool) -> None:
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, shared)
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        with pytest.raises(StartError, match=f"^PORT {port} is in use: stop what listens there"):
            check_port("PORT", "127.0.0.1", port)

    check_port("PORT", "127.0.0.1", port)


@pytest.mark.parametrize("text", ["http", "0", "65536", "-1", "8e3", "٨"])
def test_invalid_port_is_refused(text: str) -> None:
    with pytest.raises(StartError, match=f"^PORT={text} is not a port"):
        number({"PORT": text}, "PORT", 8000)


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
def test_files_of_an_earlier_run_become_private(tmp_path: Path, name: str) -> None:
    path = open_to_others(tmp_path / name)

    make_private(tmp_path)

    assert mode(path) == 0o600
    assert path.parent == tmp_path or mode(path.parent) == 0o700


def test_foreign_files_keep_their_mode(tmp_path: Path) -> None:
    foreign = open_to_others(tmp_path / "notes.txt")
    target = open_to_others(tmp_path / "elsewhere" / "target")
    (tmp_path / "mail").mkdir()
    (tmp_path / "mail" / "link").symlink_to(target)

    make_private(tmp_path)

    assert {mode(foreign), mode(target)} == {0o644}
    assert mode(tmp_path) == 0o755


def test_children_write_only_for_the_user(tmp_path: Path) -> None:
    code = "open('made', 'w').write('x')"

    child = spawn([sys.executable, "-c", code], log=tmp_path / "child.log", cwd=tmp_path)

    assert child.wait(20) == 0
    assert {mode(tmp_path / name) for name in ("made", "child.log")} == {0o600}
