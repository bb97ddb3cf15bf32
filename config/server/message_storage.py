"""Messages that a page shows once: they wait in a cookie, or in the session's row."""

from typing import Any

from django.contrib.messages.storage.fallback import FallbackStorage

LONGEST = 1000  # characters: an error may quote what was typed, of whatever length
MOST = 20  # that wait: a program posts forms and opens no page


class MessageStorage(FallbackStorage):
    """Django's, within bounds: each request reads the session, and a new message rewrites it."""

    def add(self, level: int, message: Any, extra_tags: str | None = "") -> None:
        is_long = len(str(message)) > LONGEST
        super().add(level, f"{str(message)[:LONGEST]}…" if is_long else message, extra_tags)

    def _store(self, messages: list[Any], response: Any, *args: Any, **kwargs: Any) -> list[Any]:
        kept: list[Any] = super()._store(messages[-MOST:], response, *args, **kwargs)  # type: ignore[misc]  # not in the stubs
        return kept
