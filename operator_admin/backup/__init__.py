"""Backups of the database: the dump with its manifest, its restoration, and the proof of it."""


class BackupError(Exception):
    """A backup or an archive cannot be made or used; the text is for the operator."""
