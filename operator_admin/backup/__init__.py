"""Backups of the database: the dump with its manifest, its restoration, and the proof of it."""


class BackupError(Exception):
    """Why a backup or an archive cannot be made or used; worded for the operator."""
