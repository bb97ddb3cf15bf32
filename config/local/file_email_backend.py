"""Letters as files, in development: Django's own backend, but for the user alone."""

from pathlib import Path
from typing import Any

from django.core.mail.backends import filebased

from config.local.private_files import make_folder_private


class EmailBackend(filebased.EmailBackend):
    """Whoever may read a letter may set a new password by it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        make_folder_private(Path(self.file_path))

    def open(self) -> bool:
        is_opened = bool(super().open())
        if is_opened:
            Path(self.stream.name).chmod(0o600)
        return is_opened
