"""The simulator's process: its start, its log and its end."""

import signal
import socket
from pathlib import Path

import pytest
import requests

from tests.tools.simulator.peers import Receiver, Simulator, get, run
from tests.tools.simulator.sends import send_whatsapp


def outcome(env: dict[str, str]) -> tuple[int, str, str]:
    process = run({"PATH": "/usr/bin:/bin", **env})
    out, errors = process.communicate(timeout=10)
    return process.returncode, out, errors


def test_taken_port_prints_one_line(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        log = tmp_path / "log.sqlite3"
        code, out, errors = outcome({"SIMULATOR_PORT": port, "SIMULATOR_LOG": str(log)})

    assert (code, out) == (1, "")
    assert errors == f"simulator: cannot listen on 127.0.0.1:{port}: Address already in use\n"
    assert not log.exists()


def test_second_writer_of_a_log_is_refused(simulator: Simulator) -> None:
    code, _, errors = outcome({"SIMULATOR_PORT": "0", "SIMULATOR_LOG": str(simulator.log)})

    assert (code, errors) == (1, f"simulator: another simulator is using {simulator.log}\n")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_ends_it_whatever_is_under_way(
    own_simulator: Simulator, own_receiver: Receiver, phone: str, number: signal.Signals
) -> None:
    own_receiver.status = 503  # receipts are under way
    send_whatsapp(own_simulator, phone)
    own_simulator.set_fault(kind="hang", latency_ms=60_000)
    with pytest.raises(requests.ReadTimeout):
        send_whatsapp(own_simulator, phone, timeout=0.1)
    with get(f"{own_simulator.url}/events", stream=True):
        assert own_simulator.end(number) == 0
