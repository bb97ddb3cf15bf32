"""Reads a file of variables as systemd reads `EnvironmentFile=` (systemd.exec(5))."""

import re

_ASSIGNMENT = re.compile(
    r"""
    ^[ \t]* (?: [#;] (?: [^\\\n] | \\. )*            # a comment; a backslash continues it
    | (?P<name>[A-Za-z_][A-Za-z0-9_]*) [ \t]* = [ \t]*
      (?P<value> (?: "(?:[^"\\]|\\.)*" | '[^']*' | \\. | [^"'\\\n] )* ) )?
    [ \t]* (?:\n|\Z)
    """,
    re.VERBOSE | re.MULTILINE | re.DOTALL,
)
_PART = re.compile(r"""("(?:[^"\\]|\\.)*")|'([^']*)'|\\(.)|([^"'\\]+)""", re.DOTALL)


def parse(text: str) -> dict[str, str]:
    """Raises ValueError where systemd would ignore a line."""
    result = {}
    at = 0
    while at < len(text):
        match = _ASSIGNMENT.match(text, at)
        if match is None or match.end() == at:
            raise ValueError(f"not an assignment: {text[at : at + 40]!r}")
        if match["name"]:
            result[match["name"]] = _value(match["value"])
        at = match.end()
    return result


def _value(text: str) -> str:
    """A # within a value is a part of it: there are no comments behind values."""
    parts = []
    for double, single, escaped, plain in _PART.findall(text.rstrip(" \t")):
        unescaped = re.sub(r'\\(["\\`$])|\\\n', r"\1", double[1:-1])
        parts.append(unescaped or single or escaped.replace("\n", "") or plain)
    return "".join(parts)
