"""Files of a development run are for its user alone: they hold letters, codes, phones and keys."""

from pathlib import Path

FOLDERS = ("log", "mail", "metrics")
FILES = ("*.json", "*.sqlite3*", "beat-schedule*", "lock")


def make_private(var: Path) -> None:
    """Below `var` what a run writes, also what an earlier one left open to others."""
    for name in FOLDERS:
        make_folder_private(var / name)
    for pattern in FILES:
        for path in var.glob(pattern):
            _remove_access(path)


def make_folder_private(folder: Path) -> None:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)
    for path in folder.rglob("*"):
        _remove_access(path)


def _remove_access(path: Path) -> None:
    if not path.is_symlink():  # whose target may be anything
        path.chmod(0o700 if path.is_dir() else 0o600)
