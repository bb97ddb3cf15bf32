"""Commands to the Python processes of the service, which `inside/sitecustomize.py` carries out."""

import json
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from tools.bench.profile import python_stacks
from tools.bench.profile.python_stacks import PythonStack
from tools.stack.programs import CannotMeasureError

PATIENCE = 10.0  # seconds for a process to carry a command out
INTERVAL = 4.0  # ms of CPU between two samples; the kernel's clock ticks no faster on most machines


class Control:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir()
        self._kept: dict[Path, list[tuple[int, int]]] = {}  # parts of files with good samples

    def environ(self) -> dict[str, str]:
        """For the processes, so that they can be commanded."""
        return {"PYTHONPATH": python_stacks.INSIDE, "KVITOK_PROFILE": str(self._folder)}

    def pids(self) -> list[int]:
        found = (int(pipe.stem) for pipe in self._folder.glob("*.pipe"))
        return [pid for pid in found if Path(f"/proc/{pid}").exists()]

    def command(self, *words: str) -> None:
        for pid in self.pids():
            with suppress(FileNotFoundError):
                (self._folder / f"{pid}.{words[0]}").unlink()
            pipe = os.open(self._folder / f"{pid}.pipe", os.O_WRONLY | os.O_NONBLOCK)
            os.write(pipe, f"{' '.join(words)}\n".encode())
            os.close(pipe)
        deadline = time.monotonic() + PATIENCE
        while left := [pid for pid in self.pids() if not self._has_done(pid, words[0])]:
            if time.monotonic() > deadline:
                raise CannotMeasureError(f"processes {left} do not {words[0]}")
            time.sleep(0.01)

    def _has_done(self, pid: int, word: str) -> bool:
        return (self._folder / f"{pid}.{word}").exists()

    def positions(self) -> dict[Path, int]:
        """How much each process has written so far."""
        return {file: file.stat().st_size for file in self._folder.glob("*.stacks")}

    def keep(self, start: Mapping[Path, int]) -> None:
        """What was sampled since is of use."""
        for file, end in self.positions().items():
            self._kept.setdefault(file, []).append((start.get(file, 0), end))

    def stacks(self, names: Mapping[int, str]) -> dict[str, list[PythonStack]]:
        """All that were sampled and kept so far, by process."""
        found: dict[str, list[PythonStack]] = {}
        for file, parts in self._kept.items():
            if (name := names.get(int(file.stem))) is not None:
                written = file.read_bytes()
                for start, end in parts:
                    text = written[start:end].decode("utf-8", errors="replace")
                    found.setdefault(name, []).extend(python_stacks.parse(text))
        return found

    def steps(self) -> dict[int, str]:
        """What each process noted while it was traced, as JSON, by pid."""
        files = self._folder.glob("*.steps")
        return {int(file.stem): file.read_text(encoding="utf-8") for file in files}

    def collector_seconds(self, names: Mapping[int, str]) -> dict[str, float]:
        """CPU of the garbage collector while sampling, by process."""
        found: dict[str, float] = {}
        for file in self._folder.glob("*.gc"):
            if (name := names.get(int(file.stem))) is not None:
                facts: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
                found[name] = found.get(name, 0.0) + facts["gc_seconds"]
        return found
