"""Commands of the pages for operators, run as they are written, as far as one machine allows."""

import os
import re
import subprocess
from pathlib import Path

from config.environment.variables import ROOT

SET_UP = (ROOT / "docs/operations/set-up.md").read_text("utf-8")
UPGRADE = (ROOT / "docs/operations/upgrade.md").read_text("utf-8")


def lines(page: str, first: str, last: str) -> str:
    match = re.search(rf"^ *({first}.*?{last}[^\n]*)$", page, re.MULTILINE | re.DOTALL)
    assert match is not None
    return match[1]


def run(script: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """In `folder` instead of /opt, with the programs in its `bin` before others."""
    return subprocess.run(
        ["bash", "-ec", script.replace("/opt/", f"{folder}/")],
        env=os.environ | {"PATH": f"{folder}/bin:{os.environ['PATH']}"} | variables,
        cwd=folder,
        text=True,
        capture_output=True,
        timeout=60,
        check=False,
    )


def repository(folder: Path) -> Path:
    """A repository with one commit on `main`, as the pages expect of a clone, and no tag."""
    origin = folder / "origin"
    subprocess.run(["git", "init", "-q", "-b", "main", origin], check=True)
    commit(origin, "One")
    return origin


def commit(origin: Path, subject: str) -> None:
    who = ["-c", "user.name=x", "-c", "user.email=x@example.com"]
    made = ["commit", "-q", "--allow-empty", "-m", subject]
    subprocess.run(["git", "-C", origin, *who, *made], check=True)


def test_set_up_and_upgrade_need_no_tag(tmp_path: Path) -> None:
    origin = repository(tmp_path)
    clone = lines(SET_UP, "git clone …", "cd /opt/kvitok").replace("…", str(origin), 1)
    update = lines(UPGRADE, "git -C /opt/kvitok-src fetch", r"worktree add [^&]*")
    update = re.sub(r"^ +", "", update.partition(" &&")[0], flags=re.MULTILINE)

    started = run(f"{clone}\ngit status --short", tmp_path)
    commit(origin, "Two")
    updated = run(update, tmp_path)

    assert (started.returncode, started.stderr.count("fatal")) == (0, 0), started.stderr
    assert updated.returncode == 0, updated.stderr
    assert len(list(tmp_path.glob("kvitok-*"))) == 3  # the clone, and a folder for each commit


def test_first_start_makes_redis_keep_what_it_has(tmp_path: Path) -> None:
    """Clicks wait there until they are counted."""
    command = lines(SET_UP, "sed -i", "redis.conf").partition(" &&")[0]
    settings = tmp_path / "redis.conf"
    settings.write_text("# appendonly no\nappendonly no\nappendfsync everysec\n")

    run(command.replace("/etc/redis/redis.conf", str(settings)), tmp_path)

    assert settings.read_text() == "# appendonly no\nappendonly yes\nappendfsync everysec\n"


def test_upgrade_skips_nginx_with_invalid_configuration(tmp_path: Path) -> None:
    command = lines(UPGRADE, "nginx -t", "done").replace("/run/nginx.pid", str(tmp_path / "pid"))
    (tmp_path / "pid").write_text(str(os.getpid()))
    (tmp_path / "bin").mkdir()
    program = tmp_path / "bin/nginx"
    program.write_text('#!/bin/sh\necho "$@" >>nginx.log\nexit 1\n')
    program.chmod(0o755)

    done = run(f"set +e\n{command}", tmp_path)  # as where they are typed

    assert done.returncode != 0
    assert (tmp_path / "nginx.log").read_text() == "-t\n"
