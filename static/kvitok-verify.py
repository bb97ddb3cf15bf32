#!/usr/bin/env python3
"""Verifies a statement of Kvitok against the heads that the company has stored.

    python kvitok-verify.py statement.csv heads.json
    python kvitok-verify.py statement.csv --head 2026-10-31=9f86d0… [--head …]

The statement is the CSV file with all operations, including holds. It starts with the first
operation or, with `--after DAY`, on DAY or earlier. `heads.json` is the response of GET /seals, or
the file from the cabinet. Store the heads where the service cannot change them: they are what the
proof depends on.

It proves that no operation up to the last head was changed, added, removed or moved. The columns
with the local time and the operation's name are not compared; the last column has both as sealed.
Exit code 0: proved; 1: not proved; 2: a file cannot be read, or is not the whole statement.
Needs only Python 3.9.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

NOTHING = "0" * 64
COLUMNS = 8  # time, operation, tokens, change, balance, message, note, sealed line
# The signs of an operation's change of available and of held tokens.
SIGNS = {
    "top_up": (1, 0),
    "grant": (1, 0),
    "withdraw": (-1, 0),
    "hold": (-1, 1),
    "capture": (0, -1),
    "release": (1, -1),
}


# Messages by code, so that a program that imports this one can translate them.
TEXTS = {
    "order": "row {row} is out of order: it belongs above the row before it",
    "balance": "row {row}: the balance is {shown}, and {expected} by the rows above it",
    "begins_later": "rows are missing before row {row}: the statement does not begin with the "
    "first operation",
    "chain": "the chain breaks between row {first} and row {last}: it does not give the head of "
    "{day}",
    "missing": "the chain breaks after row {last}: rows of {day} are missing: it does not give the "
    "head of {day}",
    "ends_earlier": "the file ends before all rows of {day}, after row {last}, or lacks some: it "
    "does not give the head of that day",
    "row": "row {row} cannot be read",
    "tokens": "row {row}: the tokens are {shown}, and {sealed} as sealed",
    "change": "row {row}: the change is {shown}, and {sealed} as sealed",
    "message": "row {row}: the message is another one than was sealed",
    "note": "row {row}: the note is another one than was sealed",
    "partial": "the file has not all operations: download the whole statement, holds included",
    "no_heads_yet": "there is no head to compare with yet, so nothing can be proved",
    "no_opening": "the heads have none of {day} with its balance and transfers",
    "columns": "{path} is no statement with sealed lines: download it again",
    "encoding": "{path} is no text in UTF-8: download it again",
    "heads": "{path} has no heads",
}


class VerifyError(Exception):
    """`code` is a key of `TEXTS`; `values` fill its placeholders."""

    def __init__(self, code: str, **values: Any) -> None:
        super().__init__(TEXTS[code].format(**values))
        self.code, self.values = code, values


class BrokenError(VerifyError):
    """The statement differs from the sealed operations."""


class UnreadableError(VerifyError):
    """A file is missing, malformed or incomplete."""


class Head(NamedTuple):
    """The head at the end of a day; the last two fields are None if unknown."""

    day: str
    head: str
    transfers: int | None
    balance: int | None


class Line(NamedTuple):
    """A row of the statement; `text` is its last column, over which the hash was computed."""

    row: int
    id: int
    at: str
    kind: str
    amount: int
    message: str
    note: str
    text: str

    @property
    def day(self) -> str:
        return self.at[:10]

    @property
    def month(self) -> str:
        """The message's month: the first 48 bits of its id are a time in milliseconds."""
        if not self.message:
            return ""
        return time.strftime("%Y-%m", time.gmtime(int(self.message[4:16], 16) // 1000))


@dataclass
class Part:
    """The lines of a day whose messages are from one month."""

    transfers: int = 0
    available: int = 0
    held: int = 0
    digest: Any = field(default_factory=hashlib.sha256)

    def add(self, line: Line) -> None:
        available, held = SIGNS[line.kind]
        self.transfers += 1
        self.available += available * line.amount
        self.held += held * line.amount
        self.digest.update(f"{line.text}\n".encode())


@dataclass
class Chain:
    """The days read so far."""

    head: str = NOTHING
    transfers: int = 0
    balance: int = 0
    last: Line | None = None
    first_unproved: int = 2  # a row number; row 1 has the column names
    read: int = 0  # rows
    proved: int = 0  # rows
    heads: int = 0  # matching heads
    skipped: int = 0  # rows up to the day after which the chain begins
    parts: dict[str, Part] = field(default_factory=dict)
    kinds: set[str] = field(default_factory=set)

    def add(self, line: Line, balance: int) -> None:
        self.kinds.add(line.kind)
        if self.last and (line.at, line.id) <= (self.last.at, self.last.id):
            raise BrokenError("order", row=line.row)
        self.parts.setdefault(line.month, Part()).add(line)
        self.transfers += 1
        self.read += 1
        self.balance += sum(SIGNS[line.kind]) * line.amount
        self.last = line
        if balance != self.balance and self.transfers == 1:
            raise BrokenError("begins_later", row=line.row)
        if balance != self.balance:
            raise BrokenError("balance", row=line.row, shown=balance, expected=self.balance)

    def close_day(self) -> None:
        if not self.last or not self.parts:
            return
        rows = [
            [month, part.transfers, part.available, part.held, part.digest.hexdigest()]
            for month, part in sorted(self.parts.items())
        ]
        lines = [self.head, self.last.day, *map(json.dumps, rows)]
        self.head = hashlib.sha256("".join(f"{line}\n" for line in lines).encode()).hexdigest()
        self.parts = {}

    def lacks_rows_of(self, head: Head) -> bool:
        """Whether the file ends before the head's day does, such as one downloaded on that day."""
        if head.head == self.head or not self.last:
            return False
        if head.transfers is None:
            return self.last.row < self.first_unproved
        return self.transfers < head.transfers

    def compare(self, head: Head) -> None:
        """Compares the chain with a head, after all rows up to the end of its day were read."""
        actual = [self.head, self.transfers, self.balance]
        claimed = [head.head, head.transfers, head.balance]
        if any(value not in {None, other} for value, other in zip(claimed, actual)):  # noqa: B905 - Python 3.9 has no `strict`
            if not self.last:
                raise BrokenError("begins_later", row=self.first_unproved)
            code = "missing" if self.last.row < self.first_unproved else "chain"
            raise BrokenError(code, first=self.first_unproved, last=self.last.row, day=head.day)
        self.heads += 1
        if self.last:
            self.first_unproved, self.proved = self.last.row + 1, self.read


def verify(rows: Iterable[tuple[Line, int]], heads: Sequence[Head], after: str | None) -> Chain:
    """Reads all rows into a chain; raises BrokenError at the first row that does not fit."""
    chain, expected = Chain(), sorted(heads, key=_day)
    if after:
        opening = next((head for head in expected if head.day == after), None)
        if opening is None or opening.balance is None or opening.transfers is None:
            raise UnreadableError("no_opening", day=after)
        chain = Chain(opening.head, opening.transfers, opening.balance)
        expected = [head for head in expected if head.day > after]
    if not expected:
        raise UnreadableError("no_heads_yet")
    rest = iter(rows)
    try:
        _read(rest, chain, expected, after)
    except BrokenError as error:
        if _is_partial(error, chain, rest):
            raise UnreadableError("partial") from None
        raise
    return chain


def _read(
    rows: Iterator[tuple[Line, int]], chain: Chain, expected: list[Head], after: str | None
) -> None:
    for line, balance in rows:
        if after and line.day <= after:
            chain.first_unproved, chain.skipped = line.row + 1, chain.skipped + 1
            continue
        if chain.last is None or line.day != chain.last.day:
            chain.close_day()
            while expected and expected[0].day < line.day:
                chain.compare(expected.pop(0))
        chain.add(line, balance)
    chain.close_day()
    for head in expected:
        if chain.lacks_rows_of(head):
            last = chain.last.row if chain.last else chain.first_unproved - 1
            raise BrokenError("ends_earlier", day=head.day, last=last)
        chain.compare(head)


def _is_partial(error: BrokenError, chain: Chain, rest: Iterator[tuple[Line, int]]) -> bool:
    """Whether the file is a filtered statement: it has charges without their holds."""
    if error.code not in {"chain", "missing", "balance", "ends_earlier"}:
        return False
    try:
        kinds = chain.kinds | {line.kind for line, _balance in rest}
    except BrokenError:
        return False
    is_chosen = bool(kinds & {"capture", "release"}) or error.code == "balance"
    return is_chosen and "hold" not in kinds


def read_statement(path: Path) -> Iterator[tuple[Line, int]]:
    """Yields each row, with columns compared to its sealed line, and its balance."""
    try:
        yield from _rows(path)
    except UnicodeError:
        raise UnreadableError("encoding", path=path) from None


def _rows(path: Path) -> Iterator[tuple[Line, int]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        header = file.readline()
        separator = ";" if header.count('";"') else ","
        names = _cells(csv.reader([header], delimiter=separator), 1)
        if len(names or []) < COLUMNS:
            raise UnreadableError("columns", path=path)
        reader, number = csv.reader(file, delimiter=separator), 2
        while (cells := _cells(reader, number)) is not None:
            # The first row is an opening balance if older months are archived.
            is_opening = number == 2 and cells[2:3] == [""]
            if number == 2 and not is_opening and not "".join(cells[7:8]).startswith("["):
                raise UnreadableError("columns", path=path)
            if not is_opening:
                yield _line(number, cells)
            number += 1


def _cells(reader: Iterator[list[str]], row: int) -> list[str] | None:
    try:
        return next(reader, None)
    except csv.Error:  # a cell of 131,072 characters, or a NUL
        raise BrokenError("row", row=row) from None


def _line(row: int, cells: Sequence[str]) -> tuple[Line, int]:
    try:
        _time, _operation, tokens, change, balance, message, note, text = cells[:COLUMNS]
        id_, at, kind, amount, sealed_message, _hold, _proof, _key, reason = _json(text)
        line = Line(
            row, _whole(id_), _ascii(at), str(kind), _whole(amount), sealed_message, note, text
        )
        printed = int(tokens), int(change), message, _unescaped(note, reason)
        sealed = line.amount, sum(SIGNS[line.kind]) * line.amount, line.message, reason
        result = line, int(balance)
        _ = line.month  # a message without a time in its id
    except (ValueError, KeyError, TypeError, ArithmeticError, OSError):
        raise BrokenError("row", row=row) from None
    for column, value, other in zip(("tokens", "change", "message", "note"), printed, sealed):  # noqa: B905 - Python 3.9 has no `strict`
        if value != other:
            raise BrokenError(column, row=row, shown=value, sealed=other)
    return result


def _json(text: str) -> Any:
    """Parses JSON; refuses fractions, Infinity, and values nested too deeply."""
    try:
        return json.loads(text, parse_float=_refuse, parse_constant=_refuse)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _refuse(text: str) -> None:
    raise ValueError(text)


def _whole(value: object) -> int:
    """A 64-bit integer: Python refuses to print sums of much longer ones."""
    if type(value) is not int or abs(value) >= 2**63:
        raise TypeError(value)
    return value


def _ascii(value: object) -> str:
    """An ASCII text: JSON may contain lone surrogates, which cannot be encoded for the hash."""
    if not (isinstance(value, str) and value.isascii()):
        raise TypeError(value)
    return value


def _day(head: Head) -> str:
    return head.day


def _unescaped(note: str, reason: object) -> str:
    """The note without the apostrophe that protects it from a spreadsheet."""
    return note[1:] if note == f"'{reason}" else note


def read_heads(path: Path) -> list[Head]:
    try:
        body = _json(path.read_text(encoding="utf-8"))
        return [_head(row) for row in (body["data"] if isinstance(body, dict) else body)]
    except (ValueError, KeyError, TypeError):
        raise UnreadableError("heads", path=path) from None


def _head(row: Any) -> Head:
    day, head = row["day"], row["head"]
    if not (isinstance(day, str) and isinstance(head, str) and len(day) == 10):
        raise TypeError(row)
    return Head(day, head, _whole(row["transfers"]), _whole(row["balance"]))


def parse_head(text: str) -> Head:
    day, _equals, head = text.partition("=")
    if len(day) != 10 or len(head) != 64:
        raise argparse.ArgumentTypeError("give DAY=HEAD: 2026-10-31=… with 64 digits")
    return Head(day, head, None, None)


def main(arguments: Sequence[str]) -> int:
    summary, _blank, rest = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        prog="kvitok-verify",
        description=summary,
        epilog=rest,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("statement", type=Path)
    parser.add_argument("heads", type=Path, nargs="?")
    parser.add_argument("--head", type=parse_head, action="append", default=[], metavar="DAY=HEAD")
    parser.add_argument("--after", metavar="DAY", help="begin after this day's head")
    options = parser.parse_args(arguments)
    if not (options.head or options.heads):
        parser.error("name the heads to prove it against")
    try:
        heads = [*options.head, *(read_heads(options.heads) if options.heads else [])]
        chain = verify(read_statement(options.statement), heads, options.after)
    except BrokenError as error:
        print(f"NOT PROVED: {error}")
        return 1
    except (UnreadableError, OSError) as error:
        print(f"kvitok-verify: {error}", file=sys.stderr)
        return 2
    _print_proved(chain, heads, options.after)
    return 0


def _print_proved(chain: Chain, heads: Sequence[Head], after: str | None) -> None:
    last = max(heads, key=_day)
    print(f"Proved: {chain.heads} heads agree with the rows up to row {chain.first_unproved - 1}.")
    print(f"The last one is of {last.day}: {last.head}")
    if chain.skipped:
        print(f"Not proved: the first {chain.skipped} rows, up to the end of {after}.")
    if rest := chain.read - chain.proved:
        print(f"Not proved: {rest} rows after it, which no head covers yet.")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
