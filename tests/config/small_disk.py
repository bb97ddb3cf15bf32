"""A file system of a few megabytes, for root only."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest


@contextmanager
def small_disk(size: str) -> Iterator[Path]:
    """Not among pytest's own folders, which PostgreSQL's user cannot enter."""
    with TemporaryDirectory(prefix="small-disk-") as name:
        disk = Path(name)
        disk.chmod(0o755)
        mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "none", name]
        if subprocess.run(mount, check=False).returncode:
            pytest.skip("no mounting here")
        try:
            yield disk
        finally:
            subprocess.run(["umount", name], check=True)
