"""Paths of this checkout; run as a program, removes what `make` generated (`make clean`).

Works without .venv, so it imports nothing of the project.
"""

import fcntl
import hashlib
import os
import shutil
import sys
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
_GENERATED = (
    "var",
    ".venv",
    ".mypy_cache",
    ".ruff_cache",
    ".pytest_cache",
    ".hypothesis",
    ".import_linter_cache",
    "staticfiles",
)


def digest(path: Path) -> str:
    """A short hash of a path."""
    return hashlib.sha256(os.fsencode(path)).hexdigest()[:12]


# For files of root's that other users must read when they cannot enter the checkout.
SHARED_DIRECTORIES = [Path(base, f"kvitok-{digest(CHECKOUT)}") for base in ("/var/lib", "/var/tmp")]  # noqa: S108


def is_owned_by_root(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink() and path.stat().st_uid == 0


def clean() -> None:
    """Removes everything; raises BlockingIOError while the service runs."""
    lock = CHECKOUT / "var" / "lock"
    if not lock.exists():
        _remove_all()
        return
    with lock.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        _remove_all()


def _remove_all() -> None:
    shared = filter(is_owned_by_root, SHARED_DIRECTORIES) if os.geteuid() == 0 else ()
    catalogues = CHECKOUT.glob("locale/*/LC_MESSAGES/*.mo")
    for path in [*shared, *(CHECKOUT / name for name in _GENERATED), *_caches(), *catalogues]:
        if path.is_symlink() or path.is_file():
            path.unlink()
        elif path.exists():
            shutil.rmtree(path)


def _caches() -> list[Path]:
    walked = os.walk(CHECKOUT)
    return [
        Path(folder, "__pycache__") for folder, folders, _ in walked if "__pycache__" in folders
    ]


if __name__ == "__main__":
    try:
        clean()
    except BlockingIOError:
        sys.exit("`make run` is running here: stop it first")
    except OSError as error:
        sys.exit(f"not everything could be removed: {error}")
