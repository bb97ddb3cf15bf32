"""E-mails as files in development: Django's backend, with private files."""

from pathlib import Path
from typing import Any

from django.core.mail.backends import filebased

from config.local.preflight import make_folder_private


class EmailBackend(filebased.EmailBackend):
    """Writes private files, because an e-mail can reset a password."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        make_folder_private(Path(self.file_path))

    def open(self) -> bool:
        is_opened = bool(super().open())
        if is_opened:
            Path(self.stream.name).chmod(0o600)
        return is_opened
