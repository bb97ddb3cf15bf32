"""Whose bodies are received, and how refusals in front of Django are worded."""

import time
from collections.abc import Mapping
from typing import Any

from api.admission import Door
from catalogue.errors import DomainError, Error
from identity_hooks import receive
from identity_hooks.answers import refused_json
from identity_hooks.kind import Kind
from identity_hooks.kinds import kinds
from identity_hooks.models import PATH
from identity_hooks.web.hook_view import call_of
from processes.server.gateway import Refusal

PREFIX = f"{PATH}/"


def _parts(environ: Mapping[str, Any]) -> tuple[Kind | None, str, str]:
    """Kind, id and the secret at the end, of the path."""
    rest = environ["PATH_INFO"].removeprefix(PREFIX)
    kind, _, rest = rest.partition("/")
    url_id, _, secret = rest.partition("/")
    return kinds().get(kind), url_id, secret


def _sender(environ: Mapping[str, Any]) -> str:
    """The socket; raises a DomainError for whom headers alone give away."""
    kind, url_id, secret = _parts(environ)
    if kind is None:
        raise DomainError(Error.NOT_FOUND)
    socket = receive.find(kind.name, url_id)
    receive.check_caller(socket, kind, call_of(environ, time.time(), secret))
    assert socket is not None  # noqa: S101 - `check_caller` raises without one
    return f"socket {socket.pk}"


def _refuse(environ: Mapping[str, Any], refusal: DomainError, _request_id: str) -> Refusal:
    kind, _url_id, _secret = _parts(environ)
    answer = kind.refused(refusal) if kind else refused_json(refusal)
    headers = [("Content-Type", answer.content_type)]
    return Refusal(answer.status, headers, answer.body)


DOOR = Door(_sender, _refuse)
