"""`python -m tools.chaos.archiving BEFORE DIRECTORY`: seals closed days, then archives months.

A separate process, so that it can be killed at any moment.
"""

import sys
from pathlib import Path

import django
from django.core.management import call_command

if __name__ == "__main__":
    django.setup()
    from billing.seals import sealing

    sealing.seal()
    call_command("archive_months", before=sys.argv[1], directory=Path(sys.argv[2]))
