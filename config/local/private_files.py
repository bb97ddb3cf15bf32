"""Restricts a development run's files to its user: they hold e-mails, codes, phones and keys."""

from pathlib import Path

FOLDERS = ("log", "mail", "metrics")
FILES = ("*.json", "*.sqlite3*", "beat-schedule*", "lock")


def make_private(var: Path) -> None:
    """Restrict what a run writes below `var`, including files of earlier runs."""
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
    if not path.is_symlink():  # its target may be any file
        path.chmod(0o700 if path.is_dir() else 0o600)
