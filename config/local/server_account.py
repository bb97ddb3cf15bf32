"""The account without root's rights that the embedded servers run as: PostgreSQL refuses root."""

import os
import pwd
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from config.local.processes import Account, StartError

_USERS = ("nobody", "daemon", "postgres")


def account_for(*directories: Path) -> Account | None:
    """The account to run servers as; None for the current user, unless that is root.

    Existing data keeps its owner, even if `make run` is now started with sudo.
    """
    if os.geteuid() != 0:
        return None
    owners = [path.stat().st_uid for path in directories if path.is_dir()]
    for entry in (*_users_by_id(uid for uid in owners if uid), *_users_by_name(_USERS)):
        return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)
    raise StartError("PostgreSQL does not run as root and there is no user `nobody`")


def can_run(account: Account, *command: str) -> bool:
    try:
        subprocess.run(  # noqa: S603 - our own commands only
            command,
            user=account.uid,
            group=account.gid,
            extra_groups=[],
            cwd="/",
            env={"PATH": os.defpath},
            check=True,
            stdin=subprocess.DEVNULL,
            capture_output=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return False
    return True


def _users_by_id(uids: Iterator[int]) -> Iterator[pwd.struct_passwd]:
    for uid in uids:
        with suppress(KeyError):
            yield pwd.getpwuid(uid)


def _users_by_name(names: tuple[str, ...]) -> Iterator[pwd.struct_passwd]:
    for name in names:
        with suppress(KeyError):
            yield pwd.getpwnam(name)
