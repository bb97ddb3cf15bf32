import gettext
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from config.local.checkout import CHECKOUT

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


def test_the_environment_is_made_once_and_again_when_the_lock_changed(checkout: Path) -> None:
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


def test_a_catalogue_is_compiled_when_its_source_changed(checkout: Path) -> None:
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
