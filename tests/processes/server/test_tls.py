import os
import socket
import ssl
from pathlib import Path

from tests.ports import free_port
from tests.stack.programs import Program
from tests.webhooks.certificates import server_context

SECONDS = 10.0  # a busy machine may take


def test_http2_is_not_spoken(tmp_path: Path) -> None:
    _context, roots = server_context(tmp_path, "localhost")
    command = [
        "-m",
        "tests.config.small_web",
        str(port := free_port()),
        roots,
        tmp_path / "key.pem",
    ]
    log = tmp_path / "web.log"
    program = Program([*map(str, command)], log=log, environ=os.environ, words="Started worker")
    program.start()
    context = ssl.create_default_context(cafile=roots)
    context.set_alpn_protocols(["h2", "http/1.1"])
    try:
        with (
            socket.create_connection(("127.0.0.1", port), SECONDS) as plain,
            context.wrap_socket(plain, server_hostname="localhost") as line,
        ):
            offered = line.selected_alpn_protocol()
            line.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            response = line.recv(4096)
    finally:
        program.terminate()
        program.wait_stopped()

    assert (offered, response[:12]) == ("http/1.1", b"HTTP/1.1 200")
