"""Parquet files of a month's tables: one row group for each chunk, compared with it afterwards.

The only module that imports pyarrow, an extra (`requirements/archive.txt`).
"""

import hashlib
import os
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from pyarrow import compute, parquet

from operator_admin.archive import ArchiveError
from operator_admin.archive.tables import Column, Source

_TYPES = {
    "smallint": pa.int16(),
    "integer": pa.int32(),
    "bigint": pa.int64(),
    "boolean": pa.bool_(),
    "timestamp with time zone": pa.timestamp("us", tz="UTC"),
}
MASKED = r"^\+?[0-9]{0,5}\*$"
_AGGREGATES = [("amount", "count"), ("amount", "sum"), ("created_at", "max")]


class Sum(NamedTuple):
    transfers: int
    tokens: int
    last_at: datetime


Sums = dict[tuple[int, str], Sum]  # by company and kind


def write(source: Source, path: Path) -> int:
    """Returns the number of rows, which are on the disk then."""
    columns = source.columns
    schema = _schema(columns)
    rows = 0
    with path.open("wb") as file:
        with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
            for chunk in source.chunks():
                writer.write_table(_table(chunk, schema), row_group_size=len(chunk))
                rows += len(chunk)
        file.flush()
        os.fsync(file.fileno())
    return rows


def compare(source: Source, path: Path) -> None:
    """Raises ArchiveError unless the file has exactly the rows of the table, in their order."""
    file, schema = parquet.ParquetFile(path), _schema(source.columns)
    found = (file.read_row_group(number) for number in range(file.num_row_groups))
    expected = (_table(chunk, schema) for chunk in source.chunks())
    rows = 0
    for left, right in _aligned(expected, found):
        if left is None or right is None or not left.equals(right):
            raise ArchiveError(
                f"{path} differs from {source.relation} after row {rows}: if the table is right, "
                f"move the directory away, and run the command again"
            )
        rows += left.num_rows


def _aligned(expected: Iterator[Any], found: Iterator[Any]) -> Iterator[tuple[Any, Any]]:
    """Pairs of equally long pieces: a table that was restored has its rows on other pages."""
    left, right = next(expected, None), next(found, None)
    while left is not None and right is not None:
        rows = min(left.num_rows, right.num_rows)
        yield left.slice(0, rows), right.slice(0, rows)
        left = left.slice(rows) if left.num_rows > rows else next(expected, None)
        right = right.slice(rows) if right.num_rows > rows else next(found, None)
    if left is not right:
        yield left, right


def rows_of(path: Path) -> int:
    return int(parquet.read_metadata(path).num_rows)


def sums_of(path: Path) -> Sums:
    """What the books keep of each company and kind in a file of transfers."""
    sums: Sums = {}
    columns = ["company_id", "kind", "amount", "created_at"]
    for batch in parquet.ParquetFile(path).iter_batches(columns=columns):
        table = pa.Table.from_batches([batch]).group_by(["company_id", "kind"])
        for row in table.aggregate(_AGGREGATES).to_pylist():
            key, last_at = (row["company_id"], row["kind"]), row["created_at_max"]
            found = sums.get(key, Sum(0, 0, last_at))
            sums[key] = Sum(
                found.transfers + row["amount_count"],
                found.tokens + row["amount_sum"],
                max(found.last_at, last_at),
            )
    return sums


def transfers(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a file of transfers."""
    for batch in parquet.ParquetFile(path).iter_batches():
        yield from batch.to_pylist()


def unmasked(path: Path, column: str) -> int:
    """How many values of the column are more than the prefix of a phone."""
    return sum(
        int(compute.sum(compute.invert(compute.match_substring_regex(batch[0], MASKED))).as_py())
        for batch in parquet.ParquetFile(path).iter_batches(columns=[column])
    )


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _schema(columns: list[Column]) -> Any:
    return pa.schema([(column.name, _TYPES.get(column.type, pa.string())) for column in columns])


def _table(rows: list[tuple[Any, ...]], schema: Any) -> Any:
    arrays = [
        pa.array(values, type=field.type)
        for values, field in zip(zip(*rows, strict=True), schema, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=schema)
