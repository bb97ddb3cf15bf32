"""Backups of the database: a dump with a manifest, its restoration, and proof of the copy."""


class BackupError(Exception):
    """A backup or an archive cannot be made or used; the text is for the operator."""
