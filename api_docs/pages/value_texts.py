"""Values in words: what a field may hold, how long a time is."""

from collections.abc import Callable, Sequence

from django.utils.translation import gettext, ngettext

from accounts.api.fields import TIME_OR_DAY, Schema

DAY = 86_400
# From two on, so that a text may say "after" before any of them in every language: 60 seconds.
UNITS: tuple[tuple[int, Callable[[int], str]], ...] = (
    (365 * DAY, lambda n: ngettext("%(n)s year", "%(n)s years", n)),
    (DAY, lambda n: ngettext("%(n)s day", "%(n)s days", n)),
    (3600, lambda n: ngettext("%(n)s hour", "%(n)s hours", n)),
    (60, lambda n: ngettext("%(n)s minute", "%(n)s minutes", n)),
)


def duration(seconds: int) -> str:
    """In the largest unit that divides it: 600 is ten minutes, 90 ninety seconds."""
    for size, words in UNITS:
        count, rest = divmod(seconds, size)
        if not rest and count > 1:
            return words(count) % {"n": count}
    return ngettext("%(n)s second", "%(n)s seconds", seconds) % {"n": seconds}


def windows(pairs: Sequence[tuple[int, int]]) -> str:
    """Limits in a row: (5, 600) is five in ten minutes."""
    return ", ".join(
        gettext("%(count)s in %(time)s") % {"count": count, "time": duration(seconds)}
        for count, seconds in pairs
    )


def tokens(count: int) -> str:
    return ngettext("%(n)s token", "%(n)s tokens", count) % {"n": count}


def kind(schema: Schema, *, is_nested: bool = False) -> str:
    """What a value may be, in a few words; code between backticks."""
    words = gettext("list of objects") if is_nested else _one_kind(schema)
    return f"{words} {gettext('or')} `null`" if schema.get("nullable") else words


def _one_kind(schema: Schema) -> str:
    if "enum" in schema:
        return " | ".join(f"`{one}`" for one in schema["enum"] if one is not None)
    if schema["type"] == "array":
        return gettext("list of %(kind)s") % {"kind": kind(schema["items"])}
    if schema.get("pattern") == TIME_OR_DAY:
        return gettext("time or day, ISO 8601, UTC unless it names a zone")
    if schema.get("format") == "date-time":
        return gettext("time, ISO 8601 UTC")
    return _bounded(schema) or _plain(schema["type"])


def _bounded(schema: Schema) -> str | None:
    least = schema.get("minLength", schema.get("minimum"))
    bounds = {"least": least, "most": schema.get("maxLength", schema.get("maximum"))}
    if bounds["most"] is None:
        return None
    if schema["type"] == "integer":
        return gettext("integer, %(least)s to %(most)s") % bounds
    if least:
        return gettext("string, %(least)s to %(most)s characters") % bounds
    return gettext("string, up to %(most)s characters") % bounds


def _plain(name: str) -> str:
    return {
        "string": gettext("string"),
        "integer": gettext("integer"),
        "boolean": gettext("`true` or `false`"),
        "object": gettext("object"),
    }[name]
