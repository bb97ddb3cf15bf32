"""Writes the files of a detached month, and proves them against its tables and its sums."""

import os
import shutil
from datetime import date
from pathlib import Path

from billing.models import ArchivedSum
from operator_admin.archive import ArchiveError, parquet_files, sealed_parts
from operator_admin.archive.manifest import FORMAT, ArchivedFile, CompanySum, Manifest
from operator_admin.archive.tables import Source, sources
from operator_admin.backup.manifest import release

TRANSFERS = "billing_transfer"


def write(month: date, parent: Path) -> tuple[Path, str]:
    """The directory of the month's archive, complete and on the disk, and the SHA-256 of its
    manifest. One that is there already is taken if it is equal.
    """
    directory, found = parent / f"{month:%Y-%m}", sources(month)
    if not directory.exists():
        _write(month, found, directory)
    digest = check_files(directory)
    for source in found:
        parquet_files.compare(source, directory / _name(source))
    check_sums(month, directory)
    return directory, digest


def check_files(directory: Path) -> str:
    """Each file against the manifest; returns the SHA-256 of that."""
    manifest, digest = Manifest.read(directory)
    for name, entry in manifest.files.items():
        path = directory / name
        if not path.is_file():
            raise ArchiveError(f"{path} is missing")
        if path.stat().st_size != entry.size or parquet_files.sha256(path) != entry.sha256:
            raise ArchiveError(f"{path} is damaged: its SHA-256 differs")
        if parquet_files.rows_of(path) != entry.rows:
            raise ArchiveError(f"{path} has not the {entry.rows} rows of its manifest")
    return digest


def check_sums(month: date, directory: Path) -> None:
    """The file has what the books still count of it, and each transfer as it was sealed."""
    books = {
        (one.company_id, one.kind): parquet_files.Sum(one.transfers, one.tokens, one.last_at)
        for one in ArchivedSum.objects.filter(month=month)
    }
    path = directory / f"{TRANSFERS}.parquet"
    if parquet_files.sums_of(path) != books:
        raise ArchiveError(f"{path}: its sums are not those of the books")
    sealed_parts.check(month, path)


def _write(month: date, found: list[Source], directory: Path) -> None:
    partial = directory.with_name(f"{directory.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)  # of a run that was killed
    partial.mkdir(mode=0o700)
    files = {_name(source): _file(source, partial) for source in found}
    manifest = Manifest(FORMAT, release(), f"{month:%Y-%m}", files, _sums(month))
    manifest.write(partial)
    _sync(partial)
    partial.rename(directory)
    _sync(directory.parent)


def _file(source: Source, directory: Path) -> ArchivedFile:
    path = directory / _name(source)
    rows = parquet_files.write(source, path)
    masked = source.table.masked
    if masked and (count := parquet_files.unmasked(path, masked)):
        raise ArchiveError(f"{count} rows of {source.relation} have a phone")
    return ArchivedFile(
        rows=rows,
        size=path.stat().st_size,
        sha256=parquet_files.sha256(path),
        columns=[column.name for column in source.columns],
        left_out=source.left_out,
    )


def _name(source: Source) -> str:
    return f"{source.table.name}.parquet"


def _sums(month: date) -> list[CompanySum]:
    rows = ArchivedSum.objects.filter(month=month).order_by("company_id", "kind")
    return [CompanySum(row.company_id, row.kind, row.transfers, row.tokens) for row in rows]


def _sync(directory: Path) -> None:
    """A rename is on the disk once its directory is."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
