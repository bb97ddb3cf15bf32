"""A ClickHouse server on its own port, where the machine has one."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import requests

from config.local.processes import last_lines, spawn
from tests.ports import free_port
from tests.stack.programs import wait_until

# A quoted password proves that it is decoded.
USER = "kvitok"
PASSWORD = "s/e@c:ret"
QUOTED_PASSWORD = "s%2Fe%40c%3Aret"
MEMORY = 500_000_000  # bytes of one query
_CONFIG = """<?xml version="1.0"?>
<yandex>
  <logger><level>warning</level><log>{path}/log</log><errorlog>{path}/errors</errorlog></logger>
  <http_port>{port}</http_port><tcp_port>{tcp_port}</tcp_port><listen_host>127.0.0.1</listen_host>
  <path>{path}/data/</path><tmp_path>{path}/tmp/</tmp_path>
  <users_config>users.xml</users_config>
  <default_profile>default</default_profile><default_database>default</default_database>
  <mark_cache_size>16777216</mark_cache_size>
</yandex>
"""
_USERS = """<?xml version="1.0"?>
<yandex>
  <profiles><default>
    <max_memory_usage>{memory}</max_memory_usage><max_threads>2</max_threads>
  </default></profiles>
  <users><{user}>
    <password>{password}</password><networks><ip>127.0.0.1</ip></networks>
    <profile>default</profile><quota>default</quota>
  </{user}></users>
  <quotas><default/></quotas>
</yandex>
"""


@dataclass
class ClickHouseServer:
    directory: Path
    command: list[str]
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"http://{USER}:{QUOTED_PASSWORD}@127.0.0.1:{self.port}/default"

    def start(self) -> None:
        for name in ("data", "tmp"):
            (self.directory / name).mkdir(exist_ok=True)
        config = self.directory / "config.xml"
        config.write_text(_CONFIG.format(path=self.directory, port=self.port, tcp_port=free_port()))
        users = _USERS.format(user=USER, password=PASSWORD, memory=MEMORY)
        (self.directory / "users.xml").write_text(users)
        output = self.directory / "output"
        self.process = spawn(
            [*self.command, f"--config-file={config}"], log=output, cwd=self.directory
        )
        wait_until(self._answers, on_timeout=lambda: last_lines(output, 5))

    def kill(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def ask(self, query: str) -> str:
        response = requests.post(
            f"http://127.0.0.1:{self.port}/", data=query, auth=(USER, PASSWORD), timeout=30
        )
        assert response.status_code == requests.codes.ok, response.text
        return response.text.strip()

    def _answers(self) -> bool:
        try:
            return self.ask("SELECT 1") == "1"
        except requests.RequestException:
            return False


@contextmanager
def running_clickhouse(directory: Path) -> Iterator[ClickHouseServer]:
    """Skips the test on a machine without it."""
    if program := shutil.which("clickhouse-server", path="/usr/bin:/usr/sbin:/usr/local/bin"):
        command = [program]
    elif program := shutil.which("clickhouse"):
        command = [program, "server"]
    else:
        pytest.skip("no ClickHouse on this machine")
    server = ClickHouseServer(directory, command)
    server.start()
    try:
        yield server
    finally:
        server.kill()
