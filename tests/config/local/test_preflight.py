import socket

import pytest

from config.local.preflight import check_port, number
from config.local.processes import StartError


@pytest.mark.parametrize("shared", [False, True])
def test_a_port_that_is_taken_is_refused_even_if_it_could_be_shared(*, shared: bool) -> None:
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, shared)
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]

        with pytest.raises(StartError, match=f"^PORT {port} is in use: stop what listens there"):
            check_port("PORT", "127.0.0.1", port)

    check_port("PORT", "127.0.0.1", port)


@pytest.mark.parametrize("text", ["http", "0", "65536", "-1", "8e3", "٨"])
def test_invalid_port_is_refused(text: str) -> None:
    with pytest.raises(StartError, match=f"^PORT={text} is not a port"):
        number({"PORT": text}, "PORT", 8000)
