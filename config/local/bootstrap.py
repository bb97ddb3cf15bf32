"""Prepares a checkout for running; needs only Python: `bootstrap.py base|dev`.

Installs a lock file's packages into .venv, and compiles the translations.
"""

import fcntl
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[2]
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
# dev.txt contains all of base.txt.
_SERVED_BY = {"base": ("base", "dev"), "dev": ("dev",)}


class BootstrapError(Exception):
    """A line for the user that says why the checkout cannot be made ready."""


def ensure(name: str) -> None:
    """Installs requirements/`name`.txt unless its packages are installed already."""
    with (ROOT / "requirements" / f"{name}.txt").open("rb") as lock_file:
        fcntl.flock(lock_file, fcntl.LOCK_EX)  # `make run` and `make test` may start together
        usable = _succeeds("import sys; sys.exit(sys.version_info < (3, 11))")
        if usable and any(_is_current(served) for served in _SERVED_BY[name]):
            return
        if not usable or not _succeeds("import pip"):
            _create()
        _install(name)


def compile_catalogues() -> None:
    """Compiles each .po that is newer than its .mo."""
    for source in ROOT.glob("locale/*/LC_MESSAGES/*.po"):
        compiled = source.with_suffix(".mo")
        if compiled.exists() and compiled.stat().st_mtime > source.stat().st_mtime:
            continue
        # Renamed when complete: a running process may read the file at any moment.
        new = source.with_suffix(f".{os.getpid()}.mo")
        command: list[str | Path] = [
            VENV / "bin" / "pybabel",
            "-q",
            "compile",
            "-i",
            source,
            "-o",
            new,
        ]
        if not _run(command):
            new.unlink(missing_ok=True)
            raise BootstrapError(f"{source} could not be compiled: see above")
        new.replace(compiled)


def _is_current(name: str) -> bool:
    stamp = _stamp(name)
    lock = ROOT / "requirements" / f"{name}.txt"
    return stamp.exists() and stamp.read_bytes() == lock.read_bytes()


def _stamp(name: str) -> Path:
    return VENV / f"{name}.installed"


def _succeeds(program: str) -> bool:
    try:
        return _run([PYTHON, "-c", program], capture_output=True)
    except OSError:
        return False


def _run(command: Sequence[str | Path], *, capture_output: bool = False) -> bool:
    process = subprocess.run(command, capture_output=capture_output, check=False)  # noqa: S603
    return process.returncode == 0


def _create() -> None:
    if importlib.util.find_spec("ensurepip") is None:
        raise BootstrapError(
            f"{sys.executable} cannot make virtual environments: "
            "run `apt-get install python3-venv` (or your system's package of that kind) and repeat"
        )
    _say(f"Making .venv with Python {sys.version.split()[0]} …")
    shutil.rmtree(VENV, ignore_errors=True)
    try:
        venv.create(VENV, with_pip=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise BootstrapError(f".venv could not be made: {error}") from None


def _install(name: str) -> None:
    lock = ROOT / "requirements" / f"{name}.txt"
    pinned = lock.read_bytes()
    _say(f"Installing requirements/{name}.txt into .venv; the first time may take a minute …")
    # --no-deps, as the lock lists every package: for a requirement with an extra, pip would choose
    # the newest release and then refuse it for lack of a hash.
    options: list[str | Path] = ["--no-deps", "--require-hashes", "-r", lock]
    if not (_install_with_uv(options) or _install_with_pip(options)):
        raise BootstrapError("the packages could not be installed: see above, then try again")
    # Written last, with the content read at the start: a failed install is repeated next time.
    _stamp(name).write_bytes(pinned)


def _install_with_uv(options: Sequence[str | Path]) -> bool:
    """Takes a sixth of pip's time, but may fail where only pip knows the index, from its pip.conf.

    The developers' lock has uv's version and hashes.
    """
    text = (ROOT / "requirements" / "dev.txt").read_text(encoding="utf-8")
    pin = re.search(r"^uv==.*?(?=^\S|\Z)", text, re.MULTILINE | re.DOTALL)
    if pin is None:
        return False
    with TemporaryDirectory() as folder:
        lock = Path(folder, "uv.txt")
        lock.write_text(pin[0], encoding="utf-8")
        if not _install_with_pip(["--require-hashes", "-r", lock, "--target", folder]):
            return False
        command = [Path(folder, "bin", "uv"), "pip", "install", "--python", PYTHON, *options]
        return _run(command, capture_output=True)


def _install_with_pip(options: Sequence[str | Path]) -> bool:
    quiet = ["-qq", "--disable-pip-version-check", "--no-input"]
    # Most modules are never imported; the others are compiled when they are.
    return _run([PYTHON, "-m", "pip", "install", *quiet, "--no-compile", *options])


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    try:
        ensure(sys.argv[1])
        compile_catalogues()
    except BootstrapError as error:
        sys.exit(str(error))
    except OSError as error:
        sys.exit(f"the checkout could not be made ready: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
