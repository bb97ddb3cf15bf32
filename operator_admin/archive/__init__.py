"""Archives of old months: Parquet files with a manifest, made before the tables are dropped."""


class ArchiveError(Exception):
    """Why a month cannot be archived, or an archive is not whole; worded for the operator."""
