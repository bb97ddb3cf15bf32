"""*Try it*: plays the server's own call, signed by the real secret, through the servers' view."""

import json
import secrets
import time
from io import BytesIO
from ipaddress import ip_network
from typing import Any, NamedTuple

from django.conf import settings
from django.core.handlers.wsgi import WSGIRequest

from accounts.audit import record
from accounts.masked_phones import mask_phone
from accounts.models import User
from channels import phone_numbers
from identity_hooks import sockets
from identity_hooks.hook_call import PlayedCall
from identity_hooks.kind import Trial
from identity_hooks.models import Socket
from identity_hooks.web.hook_view import receive_call

LOOPBACK = "127.0.0.1"


class TrialResult(NamedTuple):
    body: str  # of the played call
    status: int
    answer: str
    is_sent: bool


def play(*, socket: Socket, phone: str, user: User, ip: str | None = None) -> TrialResult:
    """Raises a DomainError if `phone` is not a phone."""
    number = phone_numbers.normalise(phone, socket.company.country)
    kind = sockets.kind_of(socket)
    code = "".join(secrets.choice("0123456789") for _digit in range(socket.code_length))
    secret = sockets.secrets_of(socket)[0]
    played = kind.play(Trial(secret, number, code, time.time(), sockets.options_of(socket)))
    record(
        "socket.tried", f"{socket} {mask_phone(number)}", company=socket.company, user=user, ip=ip
    )
    response = receive_call(_request(socket, played), socket.kind, socket.url_id)
    answer = response.content.decode(errors="replace")
    is_sent = response.status_code < 300 and '"error"' not in answer
    return TrialResult(
        _pretty(played.body.decode()), response.status_code, _pretty(answer), is_sent
    )


def _request(socket: Socket, played: PlayedCall) -> WSGIRequest:
    address = _address(socket)
    environ: dict[str, Any] = {
        f"HTTP_{name.upper().replace('-', '_')}": text for name, text in played.headers.items()
    }
    if count := settings.TRUSTED_PROXY_COUNT:  # as our own proxies would write it
        environ["HTTP_X_FORWARDED_FOR"] = ", ".join([address] * count)
    return WSGIRequest(
        environ
        | {
            "REQUEST_METHOD": played.method,
            "PATH_INFO": socket.path,
            "QUERY_STRING": played.query,
            "CONTENT_TYPE": environ.pop("HTTP_CONTENT_TYPE", ""),
            "CONTENT_LENGTH": str(len(played.body)),
            "REMOTE_ADDR": address,
            "wsgi.input": BytesIO(played.body),
        }
    )


def _address(socket: Socket) -> str:
    """One from which the server may call."""
    if not socket.allowed_ips:
        return LOOPBACK
    return str(ip_network(socket.allowed_ips[0], strict=False).network_address)


def _pretty(text: str) -> str:
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except ValueError:
        return text
