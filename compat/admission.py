"""Whose bodies a dialect receives, and how it words what the server refuses in front of Django."""

from collections.abc import Mapping
from typing import Any

from django.utils import translation

from api.admission import Door, network
from catalogue import languages
from catalogue.errors import DomainError, Error
from compat.dialect import Answer
from compat.discovery import of_path
from compat.view import DEFAULT_LANGUAGE, principal_of, written
from processes.server.gateway import Refusal

PREFIX = "/compat/"


def _sender(environ: Mapping[str, Any]) -> str:
    dialect = of_path(environ["PATH_INFO"])
    if dialect is None:
        raise DomainError(Error.NOT_FOUND)
    if environ["PATH_INFO"].removeprefix(dialect.path) in dialect.open_paths:
        return network(environ)
    return f"key {principal_of(dialect, environ).key_id}"


def _refuse(environ: Mapping[str, Any], error: DomainError, request_id: str) -> Refusal:
    dialect = of_path(environ["PATH_INFO"])
    if dialect is None:
        answer = Answer(error.error.status, error.body(request_id=request_id))
    else:
        header = environ.get("HTTP_ACCEPT_LANGUAGE", "")
        with translation.override(languages.of_accept_language(header, DEFAULT_LANGUAGE)):
            answer = dialect.refuse(error, request_id)
    repeated = dialect.echoed(environ) if dialect else {}
    headers = [("Content-Type", answer.content_type), *answer.headers.items(), *repeated.items()]
    return Refusal(answer.status, headers, written(answer))


DOOR = Door(_sender, _refuse)
