"""`deploy/nginx.conf` in the nginx that is installed: Debian 12 has 1.22."""

import os
import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from config.environment.variables import ROOT
from config.local.processes import spawn
from tests.ports import free_port
from tests.processes.server.test_gateway import small_web
from tests.stack.programs import wait_until

NGINX = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
pytestmark = pytest.mark.skipif(NGINX is None, reason="no nginx here")
HOST = "kvitok.example.com"


@dataclass(frozen=True)
class Proxy:
    command: list[str]
    port: int
    folder: Path


@pytest.fixture
def proxy(tmp_path: Path) -> Proxy:
    """The file as it is, but for addresses and the certificate."""
    certificate(tmp_path)
    port = free_port()
    text = (ROOT / "deploy/nginx.conf").read_text("utf-8")
    for old, new in {
        "/etc/letsencrypt/live/kvitok.example.com": str(tmp_path),
        "listen 443": f"listen 127.0.0.1:{port}",
        "listen 80": f"listen 127.0.0.1:{free_port()}",
        "server 127.0.0.1:8000": "server 127.0.0.1:UPSTREAM",
    }.items():
        assert old in text
        text = text.replace(old, new)
    (tmp_path / "kvitok.conf").write_text(text.replace("UPSTREAM", "8000"), "utf-8")
    (tmp_path / "nginx.conf").write_text(
        f"daemon off; pid {tmp_path}/pid; error_log {tmp_path}/error.log;\nevents {{}}\n"
        f"http {{ access_log off; client_body_temp_path {tmp_path}/body;\n"
        f"proxy_temp_path {tmp_path}/proxy; include {tmp_path}/kvitok.conf; }}\n"
    )
    command = [str(NGINX), "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf")]
    return Proxy(command, port, tmp_path)


def certificate(folder: Path) -> None:
    subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-subj",
            f"/CN={HOST}",
            "-keyout",
            folder / "privkey.pem",
            "-out",
            folder / "fullchain.pem",
        ],
        check=True,
        capture_output=True,
    )


@pytest.fixture
def running(proxy: Proxy) -> Iterator[Proxy]:
    web = small_web(proxy.folder)
    configuration = proxy.folder / "kvitok.conf"
    configuration.write_text(configuration.read_text().replace(":8000", f":{web.command[-1]}"))
    process = spawn(proxy.command, log=proxy.folder / "nginx.log")
    wait_until((proxy.folder / "pid").exists)
    yield proxy
    process.terminate()
    process.wait(10)
    web.terminate()
    web.wait_stopped()


def test_configuration_is_accepted(proxy: Proxy) -> None:
    done = subprocess.run([*proxy.command, "-t"], text=True, capture_output=True, check=False)

    assert done.returncode == 0, done.stderr
    assert "emerg" not in done.stderr


def test_http2_is_offered_and_the_client_s_scheme_is_forwarded(running: Proxy) -> None:
    with connection(running, "h2") as tls:
        offered = tls.selected_alpn_protocol()
    with connection(running, "http/1.1") as tls:
        headers = f"Host: {HOST}\r\nX-Forwarded-Proto: http\r\nX_Forwarded_For: 192.0.2.9\r\n"
        tls.sendall(f"GET / HTTP/1.1\r\n{headers}Connection: close\r\n\r\n".encode())
        response = b""
        while part := tls.recv(65_536):
            response += part

    assert offered == "h2"
    assert b'"HTTP_X_FORWARDED_PROTO":"https"' in response
    assert b'"HTTP_X_FORWARDED_FOR":"127.0.0.1"' in response
    assert f'"HTTP_HOST":"{HOST}"'.encode() in response


def test_absent_web_process_fails_no_request(running: Proxy) -> None:
    add_upstream(running, free_port())

    assert [status(post(running)) for _ in range(4)] == [200] * 4


def test_post_that_may_have_arrived_is_not_sent_again(running: Proxy) -> None:
    with socket.create_server(("127.0.0.1", 0)) as breaking:
        add_upstream(running, breaking.getsockname()[1])
        with ThreadPoolExecutor() as threads:
            responses = threads.map(lambda _: status(post(running)), range(2))
            broken, _ = breaking.accept()
            arrived = broken.recv(65_536)
            broken.close()

    assert arrived.startswith(b"POST")
    assert sorted(responses) == [200, 502]


def add_upstream(proxy: Proxy, port: int) -> None:
    configuration = proxy.folder / "kvitok.conf"
    text = configuration.read_text("utf-8")
    configuration.write_text(
        text.replace("    keepalive 32;", f"    server 127.0.0.1:{port};\n    keepalive 32;")
    )
    before = worker_pids(proxy)
    subprocess.run([*proxy.command, "-s", "reload"], check=True, capture_output=True)
    wait_until(lambda: not before & worker_pids(proxy))


def worker_pids(proxy: Proxy) -> set[str]:
    """The workers of nginx: a reload has come into force when the old ones are gone."""
    master = (proxy.folder / "pid").read_text("utf-8").strip()
    return set(Path(f"/proc/{master}/task/{master}/children").read_text("utf-8").split())


def post(proxy: Proxy) -> bytes:
    with connection(proxy, "http/1.1") as tls:
        tls.sendall(
            f"POST / HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: 0\r\n"
            "Connection: close\r\n\r\n".encode()
        )
        return b"".join(iter(lambda: tls.recv(65_536), b""))


def status(response: bytes) -> int:
    return int(response.split(maxsplit=2)[1])


def connection(proxy: Proxy, protocol: str) -> ssl.SSLSocket:
    context = ssl.create_default_context(cafile=proxy.folder / "fullchain.pem")
    context.check_hostname = False
    context.set_alpn_protocols([protocol])
    plain = socket.create_connection(("127.0.0.1", proxy.port), timeout=10)
    return context.wrap_socket(plain)
