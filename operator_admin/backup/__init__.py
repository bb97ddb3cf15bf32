"""Backups of the database: the dump with its manifest, its restoration, and the proof of it."""


class BackupError(Exception):
    """Why a backup cannot be made, or must not be restored; worded for the operator."""
