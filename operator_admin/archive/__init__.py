"""Archives of old months: dumps without persons, proved before the months' tables are dropped."""


class ArchiveError(Exception):
    """Why a month cannot be archived, or an archive is not whole; worded for the operator."""
