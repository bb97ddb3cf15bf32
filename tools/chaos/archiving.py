"""`python -m tools.chaos.archiving BEFORE DIRECTORY`: seals what is closed, then archives months.

A process of its own, to be killed at any moment.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import django
from django.core.management import call_command


def main(arguments: Sequence[str]) -> None:
    before, directory = arguments
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    from billing.seals import sealing  # noqa: PLC0415 - models need Django set up

    sealing.seal()
    call_command("archive_months", before=before, directory=Path(directory))


if __name__ == "__main__":
    main(sys.argv[1:])
