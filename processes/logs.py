"""Structured logs: one JSON object a line, a request id on each, phones masked."""

import os
import re
from collections.abc import MutableMapping
from contextlib import suppress
from contextvars import ContextVar
from typing import Any, BinaryIO, cast

import orjson
import structlog

# Seven digits or more, however they are spaced, may be somebody's phone.
_PHONE = re.compile(r"(?<![\w-])\+?\d[\d ()-]{6,18}\d(?![\w-])")
_UNMASKED = {"timestamp", "level", "logger", "request_id", "duration_ms", "pid"}

# structlog's own way to bind it looks through every variable of the context for each line.
request_id: ContextVar[str | None] = ContextVar("request_id", default=None)


def mask_phone(phone: str) -> str:
    """`+79261234567` → `+7926•••4567`: enough to recognise, too little to call."""
    return f"{phone[:5]}•••{phone[-4:]}" if len(phone) > 9 else "•••"


def mask(text: str) -> str:
    return _PHONE.sub(lambda match: mask_phone(re.sub(r"[ ()-]", "", match[0])), text)


def mask_event(
    _logger: object, _method: str, event: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    event.pop("user_agent", None)  # of no use in a log, and whatever its sender wrote
    for key, value in event.items():
        if isinstance(value, str) and key not in _UNMASKED:
            event[key] = mask(value)
    return event


def _add_request_id(
    _logger: object, _method: str, event: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    if (bound := request_id.get()) is not None:
        event.setdefault("request_id", bound)
    return event


def _refused_by_django(
    _logger: object, _method: str, event: MutableMapping[str, Any]
) -> MutableMapping[str, Any]:
    """Lowers Django's error with a traceback to a warning: a stranger's request, such as too many
    fields.
    """
    if event["logger"].startswith("django.security."):
        event["level"] = "warning"
        event.pop("exception", None)
    return event


def _to_json(event: Any, **_options: Any) -> bytes:
    return orjson.dumps(event, default=str)


def _to_text(event: Any, **_options: Any) -> str:
    return _to_json(event).decode()


SHARED_PROCESSORS: list[Any] = [
    _add_request_id,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.format_exc_info,
]


def configure(level: str | int) -> dict[str, Any]:
    """Configures structlog and returns Django's LOGGING: our lines and libraries' look the same.

    Our lines bypass `logging` and go to stderr in one write: it would cost 0.1 ms per line.
    """
    structlog.configure(
        processors=[
            *SHARED_PROCESSORS,
            mask_event,
            structlog.processors.JSONRenderer(serializer=_to_json),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.BytesLoggerFactory(cast(BinaryIO, _Stderr())),
        cache_logger_on_first_use=True,
    )
    formatter = {
        "()": structlog.stdlib.ProcessorFormatter,
        "foreign_pre_chain": [*SHARED_PROCESSORS, _refused_by_django],
        "processors": [
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            mask_event,
            structlog.processors.JSONRenderer(serializer=_to_text),
        ],
    }
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {"json": formatter},
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json"}},
        "root": {"handlers": ["stderr"], "level": level},
        "loggers": {name: {"level": minimum} for name, minimum in LOGGER_LEVELS.items()},
    }


class _Stderr:
    """The file descriptor, unbuffered: replacing `sys.stderr` later has no effect.

    A line that cannot be written is lost, as in `logging`: on a full disk, or while the collector
    at the other end is restarted, nothing else may fail.
    """

    def write(self, line: bytes) -> None:
        with suppress(OSError):
            os.write(2, line)

    def flush(self) -> None:
        pass


# Levels for loggers whose INFO lines are of no use here.
LOGGER_LEVELS = {
    "django.request": "ERROR",  # Django logs every 4xx; the API's own line already does
    "django.security.DisallowedHost": "CRITICAL",
    "urllib3": "WARNING",  # others have a vendor's path, and with it the Telegram bot's token
    "urllib3.connection": "ERROR",  # its warning of a malformed header has it, too
    "psycopg.pool": "ERROR",
    "amqp": "WARNING",
    "kombu": "WARNING",
    "fontTools": "WARNING",  # a dozen lines for each document
    "celery.worker.strategy": "WARNING",
    "celery.app.trace": "WARNING",
    "celery.beat": "WARNING",
}
