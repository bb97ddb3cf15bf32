"""Checks before `make run` starts, with errors that say what to do; makes its files private.

They contain e-mails, codes, phones and keys.
"""

import errno
import shutil
import socket
from collections.abc import Mapping
from pathlib import Path

from config.local.processes import StartError

_FREE_SPACE = 200 * 1024 * 1024  # bytes; a new database needs 40 MB


def refuse_production(environ: Mapping[str, str]) -> None:
    """Refuses production in any spelling: `prod` must not become a development run."""
    name = environ.get("ENVIRONMENT", "").strip()
    if name not in {"", "development", "test"}:
        raise StartError(
            f"ENVIRONMENT={name}: this command is for development, "
            "see docs/operations/set-up.md for production"
        )


def number(environ: Mapping[str, str], name: str, default: int) -> int:
    """The port in this variable."""
    text = environ.get(name) or str(default)
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 65_536):
        raise StartError(f"{name}={text} is not a port: give a number from 1 to 65535")
    return int(text)


def check_port(name: str, host: str, port: int) -> None:
    """Raises StartError unless the port is free.

    Does not set SO_REUSEPORT, with which two servers could share the port.
    """
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            probe.listen()
    except OSError as error:
        raise StartError(_port_error(name, host, port, error)) from None


def make_writable(directory: Path) -> None:
    """Creates the directory and tests that it is writable."""
    probe = directory / ".probe"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        probe.write_bytes(b"x" * 4096)
        probe.unlink()
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise
        raise StartError(
            f"{directory} cannot be written to ({error.strerror}): "
            "make it yours, or set VAR_DIR to a directory that is"
        ) from None


def check_space(directory: Path) -> None:
    free = shutil.disk_usage(directory).free
    if free < _FREE_SPACE:
        raise StartError(
            f"{free // 2**20} MB are free at {directory}, {_FREE_SPACE // 2**20} MB are needed"
        )


def _port_error(name: str, host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        return (
            f"{name} {port} is in use: stop what listens there, or run: make run {name}={port + 10}"
        )
    if error.errno == errno.EACCES:
        return f"{name} {port} is reserved for root: choose one above 1023"
    return f"cannot listen on {host}, port {port} ({error.strerror}): check HOST and {name}"


FOLDERS = ("log", "mail", "metrics")
FILES = ("*.json", "*.sqlite3*", "beat-schedule*", "lock")


def make_private(var: Path) -> None:
    """Makes a run's files below `var` private, including those of earlier runs."""
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
